// A provider without a cloud: it takes the arguments that the real ones take, by their schema, and makes up what they compute.
// With it `validate`, `apply` and `output` of the modules in `deploy/` run offline. It does not show that a cloud takes them.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

//go:embed aws.schema.json
var aws []byte

//go:embed oci.schema.json
var oci []byte

type attribute struct {
	Kind                      string
	Required, Computed, Given bool
	Value                     []map[string]string
}

type block struct {
	Many, Required bool
	Attributes     map[string]attribute
	Blocks         map[string]block
}

var kinds = map[string]schema.ValueType{
	"string": schema.TypeString, "number": schema.TypeFloat, "bool": schema.TypeBool, "map": schema.TypeMap, "strings": schema.TypeList,
}

func (one attribute) schema(fixed bool) *schema.Schema {
	made := &schema.Schema{Required: one.Required, Computed: one.Computed, Optional: one.Given && !one.Required, ForceNew: fixed && one.Given}
	switch one.Kind {
	case "objects":
		fields := map[string]*schema.Schema{}
		for name := range one.Value[0] {
			fields[name] = &schema.Schema{Type: schema.TypeString, Computed: true}
		}
		made.Type, made.Elem = schema.TypeList, &schema.Resource{Schema: fields}
	case "map", "strings":
		made.Type, made.Elem = kinds[one.Kind], &schema.Schema{Type: schema.TypeString}
	default:
		made.Type = kinds[one.Kind]
	}
	return made
}

func (one block) schema(fixed bool) map[string]*schema.Schema {
	made := map[string]*schema.Schema{}
	for name, own := range one.Attributes {
		made[name] = own.schema(fixed)
	}
	for name, own := range one.Blocks {
		made[name] = &schema.Schema{Type: schema.TypeList, Optional: !own.Required, Required: own.Required, ForceNew: fixed,
			Elem: &schema.Resource{Schema: own.schema(fixed)}}
		if !own.Many {
			made[name].MaxItems = 1
		}
	}
	return made
}

// Sets what the cloud would compute: the same for the same arguments.
func (one block) fill(data *schema.ResourceData) error {
	hash := fnv.New32a()
	hash.Write([]byte(data.GetRawConfig().GoString()))
	number := hash.Sum32()
	data.SetId(fmt.Sprintf("stub-%08x", number))
	for name, own := range one.Attributes {
		if !own.Computed {
			continue
		}
		var value any
		switch {
		case own.Kind == "objects":
			rows := []map[string]any{}
			for _, fields := range own.Value {
				row := map[string]any{}
				for field, text := range fields {
					row[field] = text
				}
				rows = append(rows, row)
			}
			value = rows
		case own.Kind != "string" || data.Get(name) != "":
			continue
		case name == "private_ip":
			value = fmt.Sprintf("10.77.%d.%d", number>>8&0xf, number&0xff)
		case name == "public_ip":
			value = fmt.Sprintf("203.0.113.%d", number&0xff)
		case strings.HasPrefix(name, "public_key"):
			value = fmt.Sprintf("ssh-ed25519 AAAA%08x\n", number)
		case strings.HasPrefix(name, "private_key"):
			value = "-----BEGIN OPENSSH PRIVATE KEY-----\nc3R1Yg==\n-----END OPENSSH PRIVATE KEY-----\n"
		default:
			value = fmt.Sprintf("stub-%s-%08x", name, number)
		}
		if err := data.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func provider() *schema.Provider {
	made := &schema.Provider{
		Schema:         map[string]*schema.Schema{"region": {Type: schema.TypeString, Optional: true}},
		ResourcesMap:   map[string]*schema.Resource{},
		DataSourcesMap: map[string]*schema.Resource{},
	}
	for _, text := range [][]byte{aws, oci} {
		found := map[string]block{}
		if err := json.Unmarshal(text, &found); err != nil {
			log.Fatal(err)
		}
		for name, one := range found {
			if kind, isData := strings.CutPrefix(name, "data."); isData {
				made.DataSourcesMap[kind] = &schema.Resource{Schema: one.schema(false),
					Read: func(data *schema.ResourceData, _ any) error { return one.fill(data) }}
				continue
			}
			made.ResourcesMap[name] = &schema.Resource{Schema: one.schema(true), Read: schema.Noop, Delete: schema.RemoveFromState,
				Create: func(data *schema.ResourceData, _ any) error { return one.fill(data) }}
		}
	}
	return made
}

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: provider})
}
