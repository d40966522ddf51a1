package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Placement is what a spec needs in addition to the analysis: paths on the host, the container's ids and what was
// resolved there.
type Placement struct {
	// Root is the root filesystem's directory, mounted read-only as "/". All mount points exist in it or can be made
	// there.
	Root string
	// Work is the host directory bound read-write at /work.
	Work string
	// Binds are mounted read-only in this order, after the container's own filesystems and before /work: the root
	// filesystem's own such as /usr, then data, docs, project, script and inputs.
	Binds []Bind

	// UIDMappings and GIDMappings are the container's user namespace maps. They map 0 and UID or GID.
	UIDMappings, GIDMappings []specs.LinuxIDMapping
	// UID and GID are the analysis' ids inside: 1000, or 0 if the user has only one id.
	UID, GID uint32

	// Command is the analysis' argument vector with a script's interpreter resolved; see Interpreter.
	Command []string

	// ImageEnv is the environment of the root filesystem's image, "NAME=VALUE"; the rest of its configuration (entry
	// point, command, user, working directory, volumes) is ignored.
	ImageEnv []string
	// Secrets holds the values of Analysis.Secrets. Those without a value are left out, as in a spec that is shown or
	// exported.
	Secrets map[string]string
	// Trace are the variables of a trace context (W3C), which belong to one run as its id does.
	Trace map[string]string
	// HasData and HasDocs say that /data and /docs are bound.
	HasData, HasDocs bool

	// Runtime is the directory whose bin comes first in PATH, as seen inside; empty: none. RuntimeVariable is the
	// variable that holds it, VIRTUAL_ENV or CONDA_PREFIX; empty: none.
	Runtime, RuntimeVariable string

	// NoFile is RLIMIT_NOFILE, soft and hard; 0 means 65536. It must not exceed the caller's hard limit, which cannot be
	// raised in a user namespace.
	NoFile uint64

	// Audit says that the program of AddInit installs its own filter, which notifies of sockets of refused families and some other calls
	// (runner/sandbox/runc/container). The specification's then passes those families to a tracer, which does not exist: they fail
	// with ENOSYS unless notified first.
	Audit bool

	// Unfiltered omits the seccomp filter, for a caller that has it as a program (runner/filter).
	Unfiltered bool

	// Portable makes a spec for older runtimes (Debian 12's runc 1.1.5): without newer features, and with paths that may
	// be relative to the bundle.
	Portable bool
}

// Bind is a read-only bind of the host's Source at Destination, both absolute.
type Bind struct{ Source, Destination string }

// option adds one aspect to a spec.
type option func(Analysis, Placement, *specs.Spec) error

// OCI translates an analysis into an OCI runtime specification. It fills in defaults and validates the analysis, so that
// no limit can be missing. It needs the id.
//
// Resources stays empty: the runner makes the control group and applies memory, cpu and pids from outside
// (runner/cgroup), also if a runtime in a user namespace could not.
func OCI(a Analysis, place Placement) (*specs.Spec, error) {
	a = a.WithDefaults()
	if err := ValidateID(a.ID); err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if err := place.validate(); err != nil {
		return nil, fmt.Errorf("placement of %s: %w", a.ID, err)
	}
	s := &specs.Spec{Process: &specs.Process{}, Linux: &specs.Linux{}}
	for _, apply := range []option{
		withVersion, withRoot, withHostname,
		withCommand, withUser, withoutPrivileges, withRlimits, withOOMScore, withEnv,
		withKernelMounts, withScratchMounts, withReadOnlyBinds, withWork,
		withNamespaces, withIDMappings, withHiddenPaths, withSysctl, withSeccomp,
	} {
		if err := apply(a, place, s); err != nil {
			return nil, fmt.Errorf("oci spec of %s: %w", a.ID, err)
		}
	}
	return s, nil
}

func withVersion(_ Analysis, place Placement, s *specs.Spec) error {
	s.Version = specs.Version
	if place.Portable {
		s.Version = "1.0.2" // implemented by runc 1.1
	}
	return nil
}

func withRoot(_ Analysis, place Placement, s *specs.Spec) error {
	s.Root = &specs.Root{Path: place.Root, Readonly: true}
	return nil
}

func withHostname(_ Analysis, _ Placement, s *specs.Spec) error {
	s.Hostname = "scidex"
	return nil
}

// validate prevents a caller's mistakes that would weaken the container: libcontainer resolves relative paths from its
// working directory, and shows unmapped ids as 65534.
func (p Placement) validate() error {
	if len(p.Command) == 0 || p.Command[0] == "" {
		return errors.New("no command")
	}
	if !mapped(p.UIDMappings, 0) || !mapped(p.UIDMappings, p.UID) {
		return fmt.Errorf("uid 0 or %d is not mapped", p.UID)
	}
	if !mapped(p.GIDMappings, 0) || !mapped(p.GIDMappings, p.GID) {
		return fmt.Errorf("gid 0 or %d is not mapped", p.GID)
	}
	return p.validatePaths()
}

func (p Placement) validatePaths() error {
	sources, destinations := []string{p.Root, p.Work}, []string{}
	for _, bind := range p.Binds {
		sources, destinations = append(sources, bind.Source), append(destinations, bind.Destination)
	}
	for _, path := range sources {
		if path == "" || !p.Portable && !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
			return fmt.Errorf("path %s is not absolute", quote(path))
		}
	}
	for _, path := range destinations {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" || strings.ContainsRune(path, 0) {
			return fmt.Errorf("mount point %s is not absolute and clean", quote(path))
		}
	}
	return nil
}

func mapped(mappings []specs.LinuxIDMapping, id uint32) bool {
	for _, m := range mappings {
		if id >= m.ContainerID && id-m.ContainerID < m.Size {
			return true
		}
	}
	return false
}
