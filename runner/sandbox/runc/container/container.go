// Package container makes one container through libcontainer, holds it at the gate before its first instruction, starts
// it, waits for it and removes it. Only it imports libcontainer.
//
// It applies no control group: those are the launcher's (docs/adr/0004).
package container

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	_ "github.com/opencontainers/cgroups/devices"           // libcontainer requires it
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // the C part of libcontainer's init

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/spec/reach"
)

// Config of one container.
type Config struct {
	ID       string
	StateDir string      // for libcontainer's state directories
	Spec     *specs.Spec // without a filter of system calls
	// Filter is that filter's program (runner/filter), which our init loads first.
	Filter []byte
	// Stdin, Stdout and Stderr become descriptors 0 to 2 of the analysis.
	Stdin, Stdout, Stderr *os.File
	// Reach has the places that Landlock leaves to the analysis, if the kernel has Landlock.
	Reach reach.Places
	// Terminal says that Stdin is a terminal, which replaces Stdout and Stderr and controls the analysis.
	Terminal bool
	// Audit notifies of connections, datagrams with an address and socket families that Spec traces; see Watch.
	Audit bool
	// FixedAddresses disables address randomisation.
	FixedAddresses bool
	// Ahead are variables, "NAME=VALUE", with which the command is started before it may begin: see Container.Begin. It has
	// Note as descriptor 4. Nil: Start starts the command.
	Ahead []string
	Note  *os.File
	// Trace records the steps of the container's start and end; nil: none.
	Trace *trace.Tracer
}

// Container is one container whose PID 1 is our init.
type Container struct {
	inner   *libcontainer.Container
	process *libcontainer.Process
	reports *reports
	pidfd   *os.File
	steps   *steps // nil: nothing is traced
}

// Create makes the container up to the gate: all is set up except the command, which Start releases.
func Create(cfg Config) (*Container, error) {
	if len(cfg.Filter) == 0 || cfg.Spec.Linux.Seccomp != nil {
		return nil, errors.New("a container needs its filter of system calls as a program, and only so")
	}
	translated := cfg.Trace.Span(trace.Supervisor, "translate the specification")
	config, err := configure(cfg)
	translated()
	if err != nil {
		return nil, err
	}
	steps := newSteps(cfg.Trace, config)
	limits, options, err := rlimits(cfg.Spec.Process.Rlimits)
	if err != nil {
		return nil, err
	}
	inner, err := libcontainer.Create(cfg.StateDir, cfg.ID, config)
	if err != nil {
		return nil, fmt.Errorf("create container: %w", err)
	}
	read, write, err := newReports()
	if err != nil {
		return nil, errors.Join(err, inner.Destroy())
	}
	defer write.Close()
	if err := read.filter(cfg.Filter); err != nil {
		return nil, errors.Join(err, read.Close(), inner.Destroy())
	}
	process := newProcess(cfg, write)
	process.Rlimits = limits
	if cfg.Terminal {
		options = append(options, "--terminal")
		process.Stdout, process.Stderr = cfg.Stdin, cfg.Stdin
	}
	if cfg.Audit {
		options = append(options, "--audit")
	}
	if cfg.Trace != nil {
		options = append(options, "--trace")
	}
	options = append(options, reachOptions(cfg.Reach)...)
	for _, variable := range cfg.Ahead {
		options = append(options, "--ahead="+variable)
	}
	process.Args = slices.Concat(process.Args[:1], options, []string{"--"}, process.Args[1:])
	start := func() error { return steps.start(inner, process) }
	if cfg.FixedAddresses {
		start = func() error { return withFixedAddresses(func() error { return steps.start(inner, process) }) }
	}
	if err := start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start container: %w", err), read.Close(), inner.Destroy())
	}
	// Only Wait reaps this child, so its pid is valid.
	pidfd, err := prepare(process)
	if err != nil {
		return nil, errors.Join(err, read.Close(), inner.Signal(unix.SIGKILL), inner.Destroy())
	}
	return &Container{inner: inner, process: process, reports: read, pidfd: pidfd, steps: steps}, nil
}

// reachOptions are those of our init.
func reachOptions(places reach.Places) (options []string) {
	for _, class := range []struct {
		option string
		paths  []string
	}{{"--read=", places.Read}, {"--write=", places.Write}, {"--use=", places.Use}} {
		for _, path := range class.paths {
			options = append(options, class.option+path)
		}
	}
	return options
}

// prepare adds what libcontainer lacks for a process at the gate.
func prepare(process *libcontainer.Process) (*os.File, error) {
	pid, err := process.Pid()
	if err == nil {
		err = keepCPUs(pid)
	}
	if err != nil {
		return nil, err
	}
	return openPidfd(pid)
}

func openPidfd(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// configure translates the OCI specification. It uses none of libcontainer's rootless shortcuts: specconv.ToRootless
// drops the network namespace.
func configure(cfg Config) (*configs.Config, error) {
	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{
		CgroupName: cfg.ID,
		Spec:       cfg.Spec,
	})
	if err != nil {
		return nil, fmt.Errorf("translate the OCI specification: %w", err)
	}
	// Rootless without a path: a failure to make a control group is ignored. The supervisor sees control groups
	// read-only, so none is ever made. With an absolute parent, which does not exist, libcontainer need not read the
	// supervisor's groups in /proc for each controller.
	config.Cgroups = &cgroups.Cgroup{
		Parent:    "/scidex-oci-none",
		Name:      cfg.ID,
		Rootless:  true,
		Resources: &cgroups.Resources{},
	}
	return config, nil
}

func newProcess(cfg Config, reports *os.File) *libcontainer.Process {
	p := cfg.Spec.Process
	noNewPrivileges := true
	extra := []*os.File{reports}
	if cfg.Ahead != nil {
		extra = append(extra, cfg.Note)
	}
	return &libcontainer.Process{
		Init:            true,
		Args:            p.Args,
		Env:             p.Env,
		Cwd:             p.Cwd,
		UID:             int(p.User.UID),
		GID:             int(p.User.GID),
		Capabilities:    capabilities(p.Capabilities),
		NoNewPrivileges: &noNewPrivileges,
		Stdin:           cfg.Stdin,
		Stdout:          cfg.Stdout,
		Stderr:          cfg.Stderr,
		ExtraFiles:      extra,
	}
}

func capabilities(c *specs.LinuxCapabilities) *configs.Capabilities {
	return &configs.Capabilities{
		Bounding: c.Bounding, Effective: c.Effective, Inheritable: c.Inheritable, Permitted: c.Permitted, Ambient: c.Ambient,
	}
}

// Pidfd of the container's first process; the container owns it.
func (c *Container) Pidfd() *os.File { return c.pidfd }

// Pid of the container's first process in this PID namespace.
func (c *Container) Pid() (int, error) { return c.process.Pid() }

// Start opens the gate. With Config.Ahead the command waits then for Begin.
func (c *Container) Start() error {
	c.steps.open()
	if err := c.inner.Exec(); err != nil {
		return fmt.Errorf("open the container's gate: %w", err)
	}
	return nil
}

// Begin lets an analysis begin that Config.Ahead has started: as it is, or anew, as if it had not been started before.
func (c *Container) Begin(anew bool) {
	if anew {
		c.reports.answer(answerAnew)
		return
	}
	c.reports.answer(answerPass)
}

// Signal sends sig to the container's init, which forwards all but SIGKILL to every process, SIGTSTP as SIGSTOP; SIGKILL
// ends the PID namespace. A container that has ended is no error.
func (c *Container) Signal(sig syscall.Signal) error {
	err := unix.PidfdSendSignal(int(c.pidfd.Fd()), sig, nil, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal container: %w", err)
	}
	return nil
}

// Destroy removes libcontainer's state of an ended container. The pidfd stays: a late Signal hits no process.
func (c *Container) Destroy() error {
	return errors.Join(c.reports.Close(), c.inner.Destroy())
}

// Close closes the pidfd of a destroyed container. Signal must not follow it.
func (c *Container) Close() { _ = c.pidfd.Close() }

// Silence drops libcontainer's log lines: its errors are returned.
func Silence() { logrus.SetOutput(io.Discard) }

// A process started by libcontainer becomes its init here and does not return. In main, the packages initialised later
// would cost time: the registry's, the catalog's and the command line's.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "init" && os.Getenv("_LIBCONTAINER_INITPIPE") != "" {
		libcontainer.Init()
	}
}
