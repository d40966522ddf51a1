package stores

import (
	"os"
	"strconv"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/signing"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Policy is what the operator grants to runs.
type Policy struct {
	allowed []binds.Allowed
	egress  egress.Policy
	sign    signing.Key
	Floor   freespace.Floor
	// Unharvested bounds the directories that stay because a harvest failed.
	Unharvested phase.Unharvested
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
	if given.Unharvested, err = unharvestedOf(g); err != nil {
		return given, err
	}
	given.Floor, err = floorOf(g.MinFree)
	return given, err
}

// unharvestedOf is the bound of directories that stay because a harvest failed: more than anybody looks at in a day,
// and less than a disk.
func unharvestedOf(g *options.Global) (most phase.Unharvested, err error) {
	most = phase.Unharvested{Dirs: 100, Bytes: 64 << 30}
	if t := g.MaxUnharvested; t.Given {
		if most.Dirs, err = strconv.Atoi(t.Value); err != nil || most.Dirs < 0 {
			return most, t.Refuse("give a number of directories, or 0 for no bound")
		}
	}
	if t := g.MaxUnharvestedSize; t.Given && t.Value == "0" {
		most.Bytes = 0
	} else if t.Given {
		size, err := spec.ParseSize(t.Value)
		if err != nil {
			return most, t.Wrap(err)
		}
		most.Bytes = int64(size)
	}
	return most, nil
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
