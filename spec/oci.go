package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Placement is what a spec needs beyond the analysis: where things are on the host, which ids the
// container gets and what has been resolved there.
type Placement struct {
	// Root is the directory of the root filesystem, mounted read-only as "/". All mount points exist
	// in it or may be made in it.
	Root string
	// Work is the host directory bound read-write at /work.
	Work string
	// Binds are mounted read-only in this order, after the container's own filesystems and before
	// /work: the root filesystem's own such as /usr, then data, docs, project, script and inputs.
	Binds []Bind

	// UIDMappings and GIDMappings are those of the container's user namespace. They map 0 and UID or GID.
	UIDMappings, GIDMappings []specs.LinuxIDMapping
	// UID and GID are the analysis' ids inside: 1000, or 0 where the user has a single id to give.
	UID, GID uint32

	// Init is put before Command, for instance ["/dev/scidex-init"], and InitSource is the file of the
	// host bound read-only at its first word. Both are empty where the analysis itself is PID 1.
	Init       []string
	InitSource string
	// Command is the argument vector of the analysis with a script's interpreter resolved; see
	// Interpreter.
	Command []string

	// ImageEnv is the environment that the root filesystem's image asks for, "NAME=VALUE"; of what else its
	// configuration says (entry point, command, user, working directory, volumes) nothing counts.
	ImageEnv []string
	// Secrets holds the values of the variables that Analysis.Secrets names. One without a value here
	// is left out, as in a spec that is shown or exported.
	Secrets map[string]string
	// HasData and HasDocs say that something is bound at /data and /docs.
	HasData, HasDocs bool

	// Runtime is the directory whose bin comes first in PATH, as it is inside; empty: none. RuntimeVariable
	// is the variable that holds it, VIRTUAL_ENV or CONDA_PREFIX; empty: no such variable.
	Runtime, RuntimeVariable string

	// NoFile is RLIMIT_NOFILE, soft and hard; 0 means 65536. It must not be above the caller's own
	// hard limit, which nobody in a user namespace can raise.
	NoFile uint64

	// Audit says that Init installs a filter of its own that asks before sockets of refused families and some
	// calls more (runner/container). The specification's then leaves those families to a tracer, of which
	// there is none: they fail with ENOSYS, unless somebody is asked first.
	Audit bool

	// Unfiltered leaves the filter of system calls out, for a caller who has it as a program (runner/filter).
	Unfiltered bool

	// Portable makes a spec that older runtimes take too (Debian 12's runc 1.1.5): without what they
	// do not know, and with paths that may be relative to the bundle.
	Portable bool
}

// Bind is one read-only bind of the host's Source at Destination, both absolute.
type Bind struct{ Source, Destination string }

// option adds one aspect to a spec.
type option func(Analysis, Placement, *specs.Spec) error

// OCI translates an analysis into an OCI runtime specification. Defaults are filled in and the
// analysis is validated, so that no limit can be missing from the result. It needs the id.
//
// Resources stays empty: the runner makes the control group itself and applies memory, cpu and pids
// from outside (runner/cgroup), also where a runtime in a user namespace could not.
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
		withKernelMounts, withScratchMounts, withReadOnlyBinds, withWork, withInit,
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
		s.Version = "1.0.2" // what runc 1.1 implements
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

// validate holds what a mistake of the caller would otherwise turn into a container with less walls:
// libcontainer takes relative paths from its working directory, and ids that nobody mapped as 65534.
func (p Placement) validate() error {
	if len(p.Command) == 0 || p.Command[0] == "" {
		return errors.New("no command")
	}
	if (len(p.Init) == 0) != (p.InitSource == "") {
		return fmt.Errorf("init %q and its source %q go together", p.Init, p.InitSource)
	}
	if p.Portable && len(p.Init) > 0 {
		return errors.New("a portable spec has no init")
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
	if p.InitSource != "" {
		sources, destinations = append(sources, p.InitSource), append(destinations, p.Init[0])
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
