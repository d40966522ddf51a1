// Package confine shuts the proxy of a run in: it has the host's network and nothing else of the host.
package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/filter"
)

// shown is what the proxy reads of the host: how names are resolved, and the public certificate authorities.
var shown = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted/pem",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
}

// Attributes are those of a process that calls Enter: namespaces of its own except for the network, and no terminal.
func Attributes(uid, gid int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
		Setsid:      true,
	}
}

// Enter confines this process, which was started with Attributes, for good: an empty root with what is shown of the host, no capability,
// limits, and a filter of system calls for all its threads.
func Enter() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"make an empty root", enterRoot},
		{"limit", limit},
		{"drop capabilities", dropCapabilities},
		{"filter system calls", filterCalls},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("confine the proxy: %s: %w", step.what, err)
		}
	}
	return nil
}

// stage is where the new root is made: a directory that exists everywhere.
const stage = "/proc"

func enterRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64k,nr_inodes=64,mode=755"); err != nil {
		return err
	}
	for _, path := range shown {
		if err := show(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := unix.Chdir(stage); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // pivot_root(2) has this way
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// show binds a file or directory of the host, if it has it, also where its path leads by links elsewhere. What is mounted below a
// directory comes with it: a user namespace gets such a directory only whole (mount_namespaces(7)).
func show(path string) error {
	from, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	to := filepath.Join(stage, path)
	if err := makeFor(to, info); err != nil {
		return err
	}
	return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
}

func makeFor(to string, info fs.FileInfo) error {
	if info.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, nil, 0o644)
}

// limit bounds memory, and descriptors, for all connections and their look-ups; no file, no core.
func limit() error {
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: 512 << 20, unix.RLIMIT_NOFILE: 512, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0, unix.RLIMIT_MEMLOCK: 0} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// dropCapabilities is for this thread; the filter keeps the others, which have theirs, from the calls that need one.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// filterCalls filters those of all threads.
func filterCalls() error {
	program, err := filter.Proxy()
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	code := unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(program))), len(program)/int(unsafe.Sizeof(unix.SockFilter{})))
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: unsafe.SliceData(code)}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	switch {
	case errno != 0:
		return errno
	case thread != 0:
		return fmt.Errorf("thread %d has another filter", thread)
	}
	return nil
}
