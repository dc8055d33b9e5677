# A test bench on AWS. Not tried against the cloud: see README.md.
terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 6.0, < 7.0" }
    tls = { source = "hashicorp/tls", version = ">= 4.0, < 5.0" }
  }
}

provider "aws" {
  region = var.region
}

locals {
  tags  = { hydrotest = "bench" }
  zones = toset([for node in var.nodes : node.zone])
}

data "aws_ssm_parameter" "image" {
  name = var.image_parameter
}

resource "aws_vpc" "bench" {
  cidr_block           = var.network
  enable_dns_hostnames = true
  tags                 = merge(local.tags, { Name = "hydrotest" })
}

resource "aws_internet_gateway" "bench" {
  vpc_id = aws_vpc.bench.id
  tags   = local.tags
}

resource "aws_route_table" "bench" {
  vpc_id = aws_vpc.bench.id
  tags   = local.tags
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.bench.id
  }
}

resource "aws_subnet" "zone" {
  for_each                = local.zones
  vpc_id                  = aws_vpc.bench.id
  availability_zone       = "${var.region}${each.key}"
  cidr_block              = cidrsubnet(var.network, 4, index(sort(local.zones), each.key))
  map_public_ip_on_launch = true
  tags                    = local.tags
}

resource "aws_route_table_association" "zone" {
  for_each       = local.zones
  subnet_id      = aws_subnet.zone[each.key].id
  route_table_id = aws_route_table.bench.id
}

resource "aws_security_group" "bench" {
  name_prefix = "hydrotest-"
  description = "ssh from where you are; the ports of the bench among its machines"
  vpc_id      = aws_vpc.bench.id
  tags        = local.tags
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each          = toset(var.allow_ssh_from)
  security_group_id = aws_security_group.bench.id
  cidr_ipv4         = each.key
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
}

resource "aws_vpc_security_group_ingress_rule" "bench" {
  security_group_id            = aws_security_group.bench.id
  referenced_security_group_id = aws_security_group.bench.id
  ip_protocol                  = "tcp"
  from_port                    = var.ports.first
  to_port                      = var.ports.last
}

resource "aws_vpc_security_group_egress_rule" "packages" {
  security_group_id = aws_security_group.bench.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}

# Machines of one zone stand close together, as in a rack.
resource "aws_placement_group" "zone" {
  for_each = local.zones
  name     = "hydrotest-${aws_vpc.bench.id}-${each.key}"
  strategy = "cluster"
  tags     = local.tags
}

# Part of the state, which is a secret: it lets one pass for these machines.
resource "tls_private_key" "host" {
  for_each  = var.nodes
  algorithm = "ED25519"
}

resource "aws_instance" "node" {
  for_each                             = var.nodes
  ami                                  = data.aws_ssm_parameter.image.insecure_value
  instance_type                        = each.value.type
  subnet_id                            = aws_subnet.zone[each.value.zone].id
  vpc_security_group_ids               = [aws_security_group.bench.id]
  placement_group                      = aws_placement_group.zone[each.value.zone].name
  instance_initiated_shutdown_behavior = "terminate"
  user_data_replace_on_change          = true
  tags                                 = merge(local.tags, { Name = each.key, role = each.value.role })
  user_data = templatefile("${path.module}/../common/cloud-init.yaml.tftpl", {
    user                  = var.user
    ssh_public_key        = trimspace(var.ssh_public_key)
    host_private_key      = tls_private_key.host[each.key].private_key_openssh
    host_public_key       = tls_private_key.host[each.key].public_key_openssh
    network               = var.network
    open_host_firewall    = false
    expires_after_minutes = var.expires_after * 60
  })
  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }
  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    volume_size = 40
  }
}

output "hydrotest" {
  description = "For `hydrotest hosts import --tofu`."
  value = { hosts = { for name, node in aws_instance.node : name => {
    user        = var.user
    to          = node.public_ip
    address     = node.private_ip
    data_center = var.region
    rack        = "${var.region}${var.nodes[name].zone}"
    type        = var.nodes[name].type
    data        = "/mnt/hydrotest"
    host_key    = trimspace(tls_private_key.host[name].public_key_openssh)
  } } }
}
