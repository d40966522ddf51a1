package unotify

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// process is a thread that waits for an answer, by the supervisor's /proc.
type process struct {
	pid      int
	socket   int // the call's descriptor
	loopback func(pid int) *loopback
}

func (p process) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", p.pid, name) }

// read copies n bytes of the process's memory; nil if unmapped.
func (p process) read(address uint64, n int) ([]byte, error) {
	buffer := make([]byte, n)
	local := []unix.Iovec{{Base: &buffer[0]}}
	local[0].SetLen(n)
	got, err := unix.ProcessVMReadv(p.pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: n}}, 0)
	if errors.Is(err, unix.EFAULT) || errors.Is(err, unix.ESRCH) || err == nil && got < n {
		return nil, nil
	}
	return buffer, err
}

// protocol reads the kernel's name of a socket's protocol.
func (p process) protocol() string {
	var name [32]byte
	n, err := unix.Getxattr(p.proc(fmt.Sprintf("fd/%d", p.socket)), "system.sockprotoname", name[:])
	if err != nil || n <= 0 {
		return ""
	}
	kernels := string(bytes.TrimRight(name[:n], "\x00"))
	for _, one := range []struct{ prefix, name string }{
		{"TCP", "tcp"}, {"MPTCP", "tcp"}, {"UDP", "udp"}, {"UNIX", "unix"},
	} {
		if strings.HasPrefix(kernels, one.prefix) {
			return one.name
		}
	}
	return "ip"
}

// listens leaves it to the kernel if it cannot query.
func (p process) listens(at netip.AddrPort) bool {
	l := p.loopback(p.pid)
	return l == nil || l.listens(at)
}

// named looks for an abstract name; /proc/net/unix shows an @ before it and for each NUL.
func (p process) named(name []byte) bool {
	f, err := os.Open(p.proc("net/unix"))
	if err != nil {
		return false
	}
	defer f.Close()
	shown := append([]byte(" @"), bytes.ReplaceAll(name, []byte{0}, []byte{'@'})...)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if bytes.HasSuffix(lines.Bytes(), shown) {
			return true
		}
	}
	return false
}

func (p process) absolute(path string) string { return filepath.Clean(p.joined(path)) }

// joined leaves links and dots to the kernel.
func (p process) joined(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir, err := os.Readlink(p.proc("cwd"))
	if err != nil {
		return path
	}
	return dir + "/" + path
}

// locate uses the process's root: that of this process would show the host.
func (p process) locate(path string) pathClass {
	root, err := unix.Open(p.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nowhere
	}
	defer unix.Close(root)
	path = p.joined(path)
	if strings.HasPrefix(filepath.Clean(path), "/proc/") {
		return own // its own descriptors; none leads out
	}
	where, err := look(root, path)
	for above := path; err != nil && !errors.Is(err, unix.EAGAIN); {
		above = filepath.Dir(above)
		if where, err = look(root, above); err == nil && where == own {
			return missing
		}
		if above == "/" || above == "." || err == nil {
			return nowhere
		}
	}
	return where
}

// readOnly is ST_RDONLY of statvfs(3), in f_flags of statfs(2).
const readOnly = 1

// look classifies a path below a root. With EAGAIN it may be there: a path that an analysis hides in this way is an event.
func look(root int, path string) (pathClass, error) {
	fd, err := beneath.Openat2(root, path, &unix.OpenHow{
		Flags: unix.O_PATH, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nowhere, err
	}
	defer unix.Close(fd)
	var system unix.Statfs_t
	var file unix.Stat_t
	if err := errors.Join(unix.Fstatfs(fd, &system), unix.Fstat(fd, &file)); err != nil {
		return nowhere, err
	}
	switch {
	case system.Flags&readOnly == 0:
		return own, nil
	case file.Mode&unix.S_IFMT != unix.S_IFSOCK || system.Type == unix.OVERLAYFS_SUPER_MAGIC:
		return walled, nil // an overlay has its own inodes, without listeners
	default:
		return bare, nil
	}
}
