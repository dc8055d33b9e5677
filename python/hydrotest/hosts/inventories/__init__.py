"""Lists of machines that people have: from OpenTofu or Terraform, Ansible, and ssh's own configuration."""
