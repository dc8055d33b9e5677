variable "region" {
  type        = string
  description = "Where the bench is, e.g. eu-central-1."
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
  type        = map(object({ type = string, zone = optional(string, "a"), role = optional(string, "") }))
  description = "The machines by name: type, letter of the availability zone, and what it is for."
  default = {
    # The five machines of experiments/packet-five-nodes.yaml, and one for its generators.
    "Kafka01"                  = { type = "i4i.xlarge", role = "kafka" }
    "Kafka02"                  = { type = "i4i.xlarge", role = "kafka" }
    "Spark-Cassandra-Master"   = { type = "i4i.xlarge", role = "spark" }
    "Spark-Cassandra-Worker01" = { type = "i4i.2xlarge", role = "spark" }
    "Spark-Cassandra-Worker02" = { type = "i4i.2xlarge", role = "spark" }
    "Clients"                  = { type = "c7i.2xlarge", role = "clients" }
  }
}

variable "image_parameter" {
  type        = string
  default     = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
  description = "The public parameter that holds the newest image: an id of an image is old soon."
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
  description = "Hours after which the machines end and are removed; 0: never."
}
