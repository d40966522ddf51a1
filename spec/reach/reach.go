// Package reach derives from an OCI specification what an analysis may reach of file systems. It is a package of its
// own so that the supervisor's program does not link all of spec.
package reach

import (
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Places are what an analysis may reach of file systems: all below these paths, and nothing else. The init makes
// Landlock rules of them (landlock(7)), if the kernel has Landlock.
type Places struct {
	Read  []string // reads and executes files, lists directories
	Write []string // makes, changes and removes them too
	Use   []string // reads and writes to devices
}

// Of derives them from the mounts of a specification: every mount can be read, and those that are not read-only can be written.
func Of(s *specs.Spec) Places {
	places := Places{Read: []string{"/"}}
	for _, m := range s.Mounts {
		switch {
		case m.Destination == "/dev":
			places.Use = append(places.Use, m.Destination)
		case writable(m):
			places.Write = append(places.Write, m.Destination)
		}
	}
	return places
}

// writable reports whether files can be made in a mount: not in those of the kernel itself.
func writable(m specs.Mount) bool {
	readOnly := slices.Contains(m.Options, "ro") || slices.Contains(m.Options, "rro")
	return (m.Type == "tmpfs" || m.Type == "bind") && !readOnly
}
