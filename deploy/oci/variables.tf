variable "region" {
  type        = string
  description = "Where the bench is, e.g. eu-frankfurt-1."
}

variable "compartment" {
  type        = string
  description = "The OCID of the compartment that the bench is made in."
}

variable "allow_ssh_from" {
  type        = list(string)
  description = "The networks that you come from, e.g. [\"198.51.100.7/32\"]. Nobody else reaches the machines."
  validation {
    condition = length(var.allow_ssh_from) > 0 && alltrue([
      for one in var.allow_ssh_from : can(regex("^[0-9.]+/[0-9]+$", one)) && can(cidrhost(one, 0)) && try(tonumber(split("/", one)[1]) >= 16, false)
    ])
    error_message = "Name the IPv4 networks that you come from, in CIDR notation, none larger than /16: ssh is not open to the world."
  }
}

variable "ssh_public_key" {
  type        = string
  description = "Your public key, e.g. file(\"~/.ssh/id_ed25519.pub\"). There are no passwords."
  validation {
    condition     = can(regex("^(ssh-|ecdsa-|sk-)", var.ssh_public_key))
    error_message = "This is no public key of OpenSSH."
  }
}

variable "user" {
  type        = string
  default     = "hydrotest"
  description = "The user who is made on each machine, without root."
  validation {
    condition     = can(regex("^[a-z][a-z0-9_-]{0,31}$", var.user)) && var.user != "root"
    error_message = "Name a user other than root, in lower case."
  }
}

variable "nodes" {
  type = map(object({
    shape = string, ocpus = optional(number), memory_gb = optional(number), domain = optional(number, 1), fault_domain = optional(number), role = optional(string, "")
  }))
  description = "The machines by name: shape (with cores and memory where it is flexible), number of the availability domain and of the fault domain there, and what it is for."
  default = {
    # The six nodes of experiments/oci-cassandra.yaml, on the three fault domains, and one machine for its generators.
    "node1"   = { shape = "VM.DenseIO.E4.Flex", ocpus = 8, memory_gb = 128, fault_domain = 1, role = "cassandra" }
    "node2"   = { shape = "VM.DenseIO.E4.Flex", ocpus = 8, memory_gb = 128, fault_domain = 2, role = "cassandra" }
    "node3"   = { shape = "VM.DenseIO.E4.Flex", ocpus = 8, memory_gb = 128, fault_domain = 3, role = "cassandra" }
    "node4"   = { shape = "VM.DenseIO.E4.Flex", ocpus = 8, memory_gb = 128, fault_domain = 1, role = "cassandra" }
    "node5"   = { shape = "VM.DenseIO.E4.Flex", ocpus = 8, memory_gb = 128, fault_domain = 2, role = "cassandra" }
    "node6"   = { shape = "VM.DenseIO.E4.Flex", ocpus = 8, memory_gb = 128, fault_domain = 3, role = "cassandra" }
    "clients" = { shape = "VM.Standard.E5.Flex", ocpus = 8, memory_gb = 32, fault_domain = 3, role = "clients" }
  }
}

variable "network" {
  type        = string
  default     = "10.77.0.0/16"
  description = "The private network of the bench."
}

variable "ports" {
  type        = object({ first = number, last = number })
  default     = { first = 15000, last = 15999 }
  description = "The ports that hydrotest uses between the machines (`ports:` of a host)."
}

variable "expires_after" {
  type        = number
  default     = 8
  description = "Hours after which the machines stop; 0: never. A stopped machine with local disks still costs money: remove the bench."
}
