module hydrotest/tests/deploy/stub

go 1.22

require github.com/hashicorp/terraform-plugin-sdk/v2 v2.40.1
