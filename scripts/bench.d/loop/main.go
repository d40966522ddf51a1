// Command loop makes containers of a bundle one after the other with libcontainer and does nothing else: what a batch is
// compared with.
//
//	loop BUNDLE STATE COUNT JOBS
//
// Its file is sealed, so that libcontainer does not copy it for each container. The bundle's filter of system calls is
// left out, as libcontainer would compile it for each; so are control groups if the user has none.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	_ "github.com/opencontainers/cgroups/devices"
	_ "github.com/opencontainers/runc/libcontainer/nsenter"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "init" {
		libcontainer.Init()
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: loop BUNDLE STATE COUNT JOBS")
	}
	if err := seal(); err != nil {
		return err
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	jobs, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	spec, err := read(args[0])
	if err != nil {
		return err
	}
	all := errgroup.Group{}
	all.SetLimit(jobs)
	for i := range count {
		all.Go(func() error { return container(spec, args[1], fmt.Sprintf("loop-%d-%d", os.Getpid(), i)) })
	}
	return all.Wait()
}

// seal executes this program from a sealed file in memory, unless it is.
func seal() error {
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer own.Close()
	if got, err := unix.FcntlInt(own.Fd(), unix.F_GET_SEALS, 0); err == nil && got&seals == seals {
		return nil
	}
	fd, err := unix.MemfdCreate("loop", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err != nil {
		return err
	}
	sealed := os.NewFile(uintptr(fd), "loop")
	if _, err := io.Copy(sealed, own); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(sealed.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return err
	}
	return syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", fd), os.Args, os.Environ())
}

// read reads a bundle's specification, with absolute paths, as libcontainer wants them.
func read(bundle string) (*specs.Spec, error) {
	text, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return nil, err
	}
	spec := &specs.Spec{}
	if err := json.Unmarshal(text, spec); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(spec.Root.Path) {
		spec.Root.Path = filepath.Join(bundle, spec.Root.Path)
	}
	spec.Linux.Seccomp = nil
	spec.Linux.CgroupsPath = "" // that of the container's name, which may fail for a user
	return spec, nil
}

// container makes a container, runs its process and removes it.
func container(spec *specs.Spec, state, id string) error {
	user := os.Geteuid() != 0
	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{
		CgroupName: id, Spec: spec, RootlessEUID: user, RootlessCgroups: user,
	})
	if err != nil {
		return err
	}
	c, err := libcontainer.Create(state, id, config)
	if err != nil {
		return err
	}
	return errors.Join(start(c, spec), c.Destroy())
}

func start(c *libcontainer.Container, spec *specs.Spec) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	process := &libcontainer.Process{
		Init: true, Args: spec.Process.Args, Env: spec.Process.Env, Cwd: spec.Process.Cwd,
		UID: int(spec.Process.User.UID), GID: int(spec.Process.User.GID),
		Stdin: null, Stdout: null, Stderr: os.Stderr, Capabilities: &configs.Capabilities{}, LogLevel: "4",
	}
	if err := c.Run(process); err != nil {
		return err
	}
	_, err = process.Wait()
	return err
}
