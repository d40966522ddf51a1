package execute

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// report is what the result says of the execution.
type report struct{ result.Report }

// tell tells the user, by the warnings of the result.
func (r *report) tell(warnings ...string) { r.Warnings = append(r.Warnings, warnings...) }

// staged warns of what was not staged.
func (r *report) staged(entries []outputs.Entry) {
	for _, entry := range entries {
		if entry.Rejected != "" {
			r.tell(fmt.Sprintf("not staged: %s (%s)", outputs.Escape(entry.Path), entry.Rejected))
		}
	}
}

// slow warns of a supervisor that starts runs slower than it could; why may be nil.
func (r *report) slow(why error) {
	if why != nil {
		r.tell("runs start slower than they could, with scidex-oci as its own supervisor: " +
			outputs.Escape([]byte(why.Error())) + "; install both programs of one release")
	}
}

// walls adds those of a container that was made.
func (r *report) walls(w sandbox.Walls) {
	r.Sandbox.UserNamespace, r.Sandbox.Network, r.Sandbox.Seccomp = w.UserNamespace, w.Network, w.Seccomp
}

// binds says how the container keeps host sockets out of reach.
func (r *report) binds(binds sandbox.BindReport) {
	r.Sandbox.SocketWall = string(binds.Sockets)
	if binds.Sockets == sandbox.WallScan {
		r.tell("a bound directory could not be shown as an overlay: it held no socket at the start, but one made in it later could be reached")
	}
	if len(binds.Bare) > 0 {
		r.tell(result.ShownBare + outputs.Escape([]byte(strings.Join(binds.Bare, ", "))))
	}
}

// landlock adds the version that holds the analysis.
func (r *report) landlock(version int) { r.Sandbox.Landlock = version }

// addresses adds the kernel's report of a deterministic run that has started.
func (r *report) addresses(exit sandbox.Exit) {
	if exit.FixedAddresses {
		r.Sandbox.AddressRandomization = "off"
		return
	}
	r.Sandbox.AddressRandomization = "on"
	r.tell("the kernel does not confirm that addresses were not randomised")
}

// space adds the usage of /work.
func (r *report) space(exit sandbox.Exit) {
	r.Usage.WorkBytes, r.Usage.WorkFiles = exit.Work.Bytes, exit.Work.Files
	if full := exit.WorkFull; full != nil {
		r.Evidence.WorkBytes, r.Evidence.WorkFiles = full.Bytes, full.Files
	}
	if short := exit.HostFull; short != nil {
		r.Evidence.HostFree, r.Evidence.HostFloor = short.Free, short.Floor
	}
}

// proxy warns of a proxy that did not serve to the end.
func (r *report) proxy(err error) {
	if err != nil {
		r.tell("the proxy of requests " + err.Error())
	}
}

// root adds the digest of a root filesystem that was checked.
func (r *report) root(b *plan.Base) {
	if b != nil && b.Image != nil {
		digest := b.Image.Digest.String()
		r.Sandbox.RootfsDigest = &digest
	}
}
