package plan

import "github.com/scidex-ai/scidex-oci/outputs/result"

// Sandbox returns what a plan knows of the result's sandbox, which reports its walls itself when it has made a container.
func (p *Plan) Sandbox() result.Sandbox {
	s := result.Sandbox{
		Rootfs: p.Analysis.Rootfs, UIDOnHost: p.Account.HostUID(p.slot.Analysis), IDs: p.Analysis.IDs, Audit: "on",
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
