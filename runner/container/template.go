package container

import (
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// TemplateSpec is the specification of a template for analyses of a specification (docs/adr/0038): the same root filesystem, but
// in the supervisor's own user and PID namespace, whose owner it has to be to join those of containers. It has the capabilities
// that our init needs to unmount /proc and to drop them all.
func TemplateSpec(analysis *specs.Spec) *specs.Spec {
	s, process, linux := *analysis, *analysis.Process, *analysis.Linux
	s.Process, s.Linux = &process, &linux
	linux.Namespaces = slices.DeleteFunc(slices.Clone(linux.Namespaces), func(n specs.LinuxNamespace) bool {
		return n.Type == specs.UserNamespace || n.Type == specs.PIDNamespace || n.Type == specs.CgroupNamespace
	})
	linux.UIDMappings, linux.GIDMappings = nil, nil
	linux.Sysctl = nil                                // of the user namespace, which is the supervisor's
	linux.MaskedPaths, linux.ReadonlyPaths = nil, nil // all of /proc
	process.User.UID, process.User.GID = 0, 0
	s.Mounts = slices.Clone(s.Mounts)
	for i, m := range s.Mounts {
		s.Mounts[i].Options = ownedByRoot(m.Options)
	}
	own := []string{"CAP_SYS_ADMIN", "CAP_SETPCAP"}
	process.Capabilities = &specs.LinuxCapabilities{Bounding: own, Effective: own, Permitted: own}
	return &s
}

// ownedByRoot gives a tmpfs to the template.
func ownedByRoot(options []string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(option string) bool {
		return strings.HasPrefix(option, "uid=") || strings.HasPrefix(option, "gid=")
	})
}
