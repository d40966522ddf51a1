package spec

import (
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func withCommand(a Analysis, place Placement, s *specs.Spec) error {
	s.Process.Args = slices.Clone(place.Command)
	s.Process.Cwd = a.StartDir()
	s.Process.Terminal = false
	return nil
}

func withUser(_ Analysis, place Placement, s *specs.Spec) error {
	umask := uint32(0o027)
	s.Process.User = specs.User{UID: place.UID, GID: place.GID, Umask: &umask}
	return nil
}

// withoutPrivileges empties all five capability sets. They are empty, not nil: a runtime keeps sets that a spec omits.
func withoutPrivileges(_ Analysis, _ Placement, s *specs.Spec) error {
	s.Process.NoNewPrivileges = true
	s.Process.Capabilities = &specs.LinuxCapabilities{
		Bounding: []string{}, Effective: []string{}, Inheritable: []string{}, Permitted: []string{}, Ambient: []string{},
	}
	return nil
}

// withOOMScore makes the analysis a likelier victim than the host's services when the host runs out of memory (proc(5),
// oom_score_adj: -1000 to 1000), but not the first.
func withOOMScore(_ Analysis, _ Placement, s *specs.Spec) error {
	score := 500
	s.Process.OOMScoreAdj = &score
	return nil
}
