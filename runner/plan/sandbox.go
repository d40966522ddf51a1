package plan

import "github.com/scidex-ai/scidex-oci/outputs/result"

// Sandbox returns the result's sandbox as known before the run.
func (p *Plan) Sandbox() result.Sandbox {
	s := result.Sandbox{
		UserNamespace: true, Network: "none", Seccomp: "enforced", Rootfs: p.Analysis.Rootfs,
		UIDOnHost: p.Account.HostUID(p.slot.Analysis), IDs: p.Analysis.IDs, Audit: "on",
	}
	p.Base.origin(&s)
	if !p.Audit {
		s.Audit = "off"
	}
	if p.single() {
		s.Groups = p.Account.Groups
	}
	return s
}
