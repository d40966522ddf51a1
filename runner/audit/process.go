package audit

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is a thread that waits for an answer, as /proc of the supervisor shows it.
type process struct {
	pid    int
	socket int // the descriptor that the call names

	loopback func() *loopback
}

func (p process) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", p.pid, name) }

// read copies memory of the process: what of n bytes at address can be read.
func (p process) read(address, n uint64) []byte {
	if address == 0 || n == 0 {
		return nil
	}
	buffer := make([]byte, min(n, unix.SizeofSockaddrAny+16))
	local := []unix.Iovec{{Base: &buffer[0]}}
	local[0].SetLen(len(buffer))
	got, err := unix.ProcessVMReadv(p.pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(buffer)}}, 0)
	if err != nil {
		return nil
	}
	return buffer[:got]
}

// protocol looks at a copy of the socket's descriptor.
func (p process) protocol() (name string, stream bool) {
	kind, err := p.socketType()
	switch {
	case err != nil:
		return "ip", true
	case kind == unix.SOCK_STREAM:
		return "tcp", true
	case kind == unix.SOCK_DGRAM:
		return "udp", false
	default:
		return "ip", false
	}
}

func (p process) socketType() (int, error) {
	group, err := p.group()
	if err != nil {
		return 0, err
	}
	pidfd, err := unix.PidfdOpen(group, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, p.socket, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
}

// group is the thread group: a pidfd is of a leader (pidfd_open(2)).
func (p process) group() (int, error) {
	text, err := os.ReadFile(p.proc("status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Tgid:"); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("no Tgid")
}

// listens leaves it to the kernel where nobody can be asked.
func (p process) listens(at netip.AddrPort) bool {
	l := p.loopback()
	return l == nil || l.listens(at)
}

// named looks for an abstract name, which /proc/net/unix shows after an @, with an @ for each NUL.
func (p process) named(name []byte) bool {
	text, err := os.ReadFile(p.proc("net/unix"))
	if err != nil {
		return true
	}
	shown := append([]byte(" @"), bytes.ReplaceAll(name, []byte{0}, []byte{'@'})...)
	return bytes.Contains(text, append(shown, '\n'))
}

func (p process) absolute(path string) string {
	if !filepath.IsAbs(path) {
		dir, err := os.Readlink(p.proc("cwd"))
		if err != nil {
			return path
		}
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// exists resolves links in the process' own root: in ours, they would tell what the host has.
func (p process) exists(absolute string) bool {
	root, err := unix.Open(p.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, absolute, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return false
	}
	return unix.Close(fd) == nil
}
