package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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

// listens looks for the port among listening TCP sockets and bound UDP sockets. Where the tables cannot be
// read, it says yes: the kernel then decides.
func (p process) listens(port uint16) bool {
	for _, table := range []struct{ file, state string }{
		{"net/tcp", "0A"}, {"net/tcp6", "0A"}, {"net/udp", ""}, {"net/udp6", ""},
	} {
		f, err := os.Open(p.proc(table.file))
		if errors.Is(err, fs.ErrNotExist) && table.file != "net/tcp" { // no IPv6 on this host
			continue
		}
		if err != nil {
			return true
		}
		found := hasPort(bufio.NewScanner(f), port, table.state)
		f.Close()
		if found {
			return true
		}
	}
	return false
}

// hasPort reads lines of /proc/net/tcp or udp (proc_pid_net(5)): number, local address, remote address,
// state, ...
func hasPort(lines *bufio.Scanner, port uint16, state string) bool {
	want := fmt.Sprintf(":%04X", port)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 3 && strings.HasSuffix(fields[1], want) && (state == "" || fields[3] == state) {
			return true
		}
	}
	return lines.Err() != nil
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
