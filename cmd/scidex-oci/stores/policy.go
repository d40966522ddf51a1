package stores

import (
	"os"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// Policy is what the operator grants to runs.
type Policy struct {
	allowed []binds.Allowed
	egress  egress.Policy
	sign    signing.Key
	Floor   freespace.Floor
}

// ReadPolicy reads the policy from the options, the environment and the config files. net opens scidex-oci-net.
func ReadPolicy(g *options.Global, env options.Lookup, net func() (*os.File, error)) (given Policy, err error) {
	if given.allowed, err = g.Allowed(); err != nil {
		return given, err
	}
	if given.egress, err = g.Egress(); err != nil {
		return given, err
	}
	if given.sign, err = keyOf(g.Sign, env); err != nil {
		return given, err
	}
	given.egress.Program, given.sign.Program = net, net
	given.Floor, err = floorOf(g.MinFree)
	return given, err
}

// floorOf is the free space to leave where runs write.
func floorOf(t options.Text) (freespace.Floor, error) {
	if !t.Given {
		return plan.DefaultFloor(), nil
	}
	floor, err := plan.ParseFloor(t.Value)
	if err != nil {
		return floor, t.Wrap(err)
	}
	return floor, nil
}
