package spec

import (
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Reach is what an analysis may reach of file systems: all below these paths, and nothing else. Our init makes rules of Landlock of it
// (landlock(7)), where the kernel has that.
type Reach struct {
	Read  []string // reads and executes files, lists directories
	Write []string // makes, changes and removes them too
	Use   []string // reads and writes to devices
}

// ReachOf derives it from the mounts of a specification: what is mounted is seen, and what is not mounted read-only is written to.
func ReachOf(s *specs.Spec) Reach {
	reach := Reach{Read: []string{"/"}}
	for _, m := range s.Mounts {
		switch {
		case m.Destination == "/dev":
			reach.Use = append(reach.Use, m.Destination)
		case writable(m):
			reach.Write = append(reach.Write, m.Destination)
		}
	}
	return reach
}

// writable reports whether files can be made in a mount: not in those of the kernel itself.
func writable(m specs.Mount) bool {
	readOnly := slices.Contains(m.Options, "ro") || slices.Contains(m.Options, "rro")
	return (m.Type == "tmpfs" || m.Type == "bind") && !readOnly
}
