# A test bench on Oracle Cloud Infrastructure. Not tried against the cloud: see README.md.
terraform {
  required_version = ">= 1.6"
  required_providers {
    oci = { source = "oracle/oci", version = ">= 6.0" }
    tls = { source = "hashicorp/tls", version = ">= 4.0, < 5.0" }
  }
}

provider "oci" {
  region = var.region
}

locals {
  tags   = { hydrotest = "bench" }
  shapes = toset([for node in var.nodes : node.shape])
}

data "oci_identity_availability_domains" "here" {
  compartment_id = var.compartment
}

data "oci_core_images" "ubuntu" {
  for_each                 = local.shapes
  compartment_id           = var.compartment
  operating_system         = "Canonical Ubuntu"
  operating_system_version = "24.04"
  shape                    = each.key
  sort_by                  = "TIMECREATED"
  sort_order               = "DESC"
}

resource "oci_core_vcn" "bench" {
  compartment_id = var.compartment
  cidr_blocks    = [var.network]
  display_name   = "hydrotest"
  dns_label      = "hydrotest"
  freeform_tags  = local.tags
}

resource "oci_core_internet_gateway" "bench" {
  compartment_id = var.compartment
  vcn_id         = oci_core_vcn.bench.id
  freeform_tags  = local.tags
}

resource "oci_core_route_table" "bench" {
  compartment_id = var.compartment
  vcn_id         = oci_core_vcn.bench.id
  freeform_tags  = local.tags
  route_rules {
    destination       = "0.0.0.0/0"
    network_entity_id = oci_core_internet_gateway.bench.id
  }
}

# The default list of a network lets ssh in from everywhere: this one lets nothing in, and the group below decides.
resource "oci_core_security_list" "bench" {
  compartment_id = var.compartment
  vcn_id         = oci_core_vcn.bench.id
  freeform_tags  = local.tags
  egress_security_rules {
    destination = "0.0.0.0/0"
    protocol    = "all"
  }
}

resource "oci_core_subnet" "bench" {
  compartment_id    = var.compartment
  vcn_id            = oci_core_vcn.bench.id
  cidr_block        = cidrsubnet(var.network, 4, 0)
  route_table_id    = oci_core_route_table.bench.id
  security_list_ids = [oci_core_security_list.bench.id]
  dns_label         = "bench"
  freeform_tags     = local.tags
}

resource "oci_core_network_security_group" "bench" {
  compartment_id = var.compartment
  vcn_id         = oci_core_vcn.bench.id
  freeform_tags  = local.tags
}

resource "oci_core_network_security_group_security_rule" "ssh" {
  for_each                  = toset(var.allow_ssh_from)
  network_security_group_id = oci_core_network_security_group.bench.id
  direction                 = "INGRESS"
  protocol                  = "6" # TCP
  source                    = each.key
  source_type               = "CIDR_BLOCK"
  tcp_options {
    destination_port_range {
      min = 22
      max = 22
    }
  }
}

resource "oci_core_network_security_group_security_rule" "bench" {
  network_security_group_id = oci_core_network_security_group.bench.id
  direction                 = "INGRESS"
  protocol                  = "6" # TCP
  source                    = oci_core_network_security_group.bench.id
  source_type               = "NETWORK_SECURITY_GROUP"
  tcp_options {
    destination_port_range {
      min = var.ports.first
      max = var.ports.last
    }
  }
}

# Part of the state, which is a secret: it lets one pass for these machines.
resource "tls_private_key" "host" {
  for_each  = var.nodes
  algorithm = "ED25519"
}

resource "oci_core_instance" "node" {
  for_each            = var.nodes
  compartment_id      = var.compartment
  availability_domain = data.oci_identity_availability_domains.here.availability_domains[each.value.domain - 1].name
  fault_domain        = each.value.fault_domain == null ? null : "FAULT-DOMAIN-${each.value.fault_domain}"
  shape               = each.value.shape
  display_name        = each.key
  freeform_tags       = merge(local.tags, { role = each.value.role })
  dynamic "shape_config" {
    for_each = each.value.ocpus == null ? [] : [each.value]
    content {
      ocpus         = shape_config.value.ocpus
      memory_in_gbs = shape_config.value.memory_gb
    }
  }
  create_vnic_details {
    subnet_id        = oci_core_subnet.bench.id
    nsg_ids          = [oci_core_network_security_group.bench.id]
    assign_public_ip = true
  }
  source_details {
    source_type = "image"
    source_id   = data.oci_core_images.ubuntu[each.value.shape].images[0].id
  }
  instance_options {
    are_legacy_imds_endpoints_disabled = true
  }
  metadata = {
    user_data = base64encode(templatefile("${path.module}/../common/cloud-init.yaml.tftpl", {
      user                  = var.user
      ssh_public_key        = trimspace(var.ssh_public_key)
      host_private_key      = tls_private_key.host[each.key].private_key_openssh
      host_public_key       = tls_private_key.host[each.key].public_key_openssh
      network               = var.network
      open_host_firewall    = true
      expires_after_minutes = var.expires_after * 60
    }))
  }
}

output "hydrotest" {
  description = "For `hydrotest hosts import --tofu`."
  value = { hosts = { for name, node in oci_core_instance.node : name => {
    user        = var.user
    to          = node.public_ip
    address     = node.private_ip
    data_center = var.region
    rack        = "${var.nodes[name].domain}${var.nodes[name].fault_domain == null ? "" : "-${var.nodes[name].fault_domain}"}"
    type        = var.nodes[name].shape
    data        = "/mnt/hydrotest"
    host_key    = trimspace(tls_private_key.host[name].public_key_openssh)
  } } }
}
