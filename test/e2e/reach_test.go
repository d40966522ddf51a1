package e2e

import (
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
)

// ear is a listener of the host.
type ear struct {
	t     *testing.T
	count atomic.Int64
	knock func() error // reaches it once
	heads chan struct{}
}

// heard returns how often the ear was reached since the last call. It sends a knock itself, which comes after
// everything that was in progress and does not count.
func (e *ear) heard() int64 {
	e.t.Helper()
	if err := e.knock(); err != nil {
		e.t.Fatal(err)
	}
	<-e.heads
	return e.count.Swap(0)
}

// addListeners listens by TCP and UDP on every address of the host and on two unix sockets. All must be reached from
// outside, and none from inside.
func (a *arena) addListeners() {
	t := a.h.t
	t.Helper()
	ears := map[string]*ear{}
	var tcp, udp [][2]string
	for _, host := range addresses(t) {
		tcp = append(tcp, [2]string{host, listen(t, ears, "tcp", net.JoinHostPort(host, "0"))})
		udp = append(udp, [2]string{host, hear(t, ears, host)})
	}
	abstract, socket := newPrefix(), filepath.Join(t.TempDir(), "socket")
	listen(t, ears, "unix", "@"+abstract)
	listen(t, ears, "unix", socket)
	if err := os.Chmod(socket, 0o777); err != nil {
		t.Fatal(err)
	}
	maps.Copy(a.told, map[string]any{"tcp": tcp, "udp": udp, "abstract": abstract, "socket": socket})
	a.checks = append(a.checks, func(outside bool) {
		for name, ear := range ears {
			if n := ear.heard(); outside != (n > 0) {
				t.Errorf("outside: %v: %s heard %d times", outside, name, n)
			}
		}
	})
}

// addresses returns every address of an interface that is up.
func addresses(t *testing.T) []string {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, i := range interfaces {
		list, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, address := range list {
			ip := address.(*net.IPNet).IP
			if host := ip.String(); ip.IsLinkLocalUnicast() && ip.To4() == nil {
				found = append(found, host+"%"+i.Name)
			} else {
				found = append(found, host)
			}
		}
	}
	return found
}

const knocking = "knock"

// listen counts connections; one that says knock is the test's own. It returns the port, if there is one.
func listen(t *testing.T, ears map[string]*ear, network, address string) (port string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if tcp, ok := l.Addr().(*net.TCPAddr); ok { // whose text leaves the zone out
		host, _, _ := net.SplitHostPort(address)
		port = strconv.Itoa(tcp.Port)
		address = net.JoinHostPort(host, port)
	}
	e := &ear{t: t, heads: make(chan struct{})}
	e.knock = func() error {
		c, err := net.Dial(network, address)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = io.WriteString(c, knocking)
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			said, _ := io.ReadAll(c)
			c.Close()
			e.note(string(said))
		}
	}()
	ears[network+" "+address] = e
	return port
}

// hear counts datagrams.
func hear(t *testing.T, ears map[string]*ear, host string) (port string) {
	t.Helper()
	c, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	port = strconv.Itoa(c.LocalAddr().(*net.UDPAddr).Port)
	e := &ear{t: t, heads: make(chan struct{})}
	e.knock = func() error {
		c, err := net.Dial("udp", net.JoinHostPort(host, port))
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = io.WriteString(c, knocking)
		return err
	}
	go func() {
		said := make([]byte, 64)
		for {
			n, from, err := c.ReadFrom(said)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(said[:n], from) // the client may be gone
			e.note(string(said[:n]))
		}
	}()
	ears["udp "+net.JoinHostPort(host, port)] = e
	return port
}

func (e *ear) note(said string) {
	if said == knocking {
		e.heads <- struct{}{}
		return
	}
	e.count.Add(1)
}

// canaryProcess starts a process of the caller with the marker among its arguments.
func canaryProcess(t *testing.T, marker string) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "read line", marker)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // sh ends with 1 at the end of its input
	})
	return cmd.Process.Pid
}

// addCanaries makes a file in every directory that the caller can write, and adds what every host has. Nothing may be
// made next to them from inside.
func (a *arena) addCanaries() {
	t := a.h.t
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{"/tmp", "/var/tmp", "/dev/shm", home, filepath.Dir(a.h.dir)}
	files := []string{"/sys/kernel", "/etc/init.d", "/var/lib/dpkg/status", "/etc/login.defs"}
	if theHost.root {
		dirs = append(dirs, "/", "/root", "/etc", "/var/lib", "/run", "/opt")
		files = append(files, "/etc/shadow")
	}
	marker := a.told["marker"].(string)
	for _, dir := range dirs {
		canary := filepath.Join(dir, marker+"-canary")
		if err := os.WriteFile(canary, []byte("canary"), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(canary) })
	}
	a.told["directories"], a.told["files"] = dirs, files
	a.checks = append(a.checks, func(outside bool) {
		for _, dir := range dirs {
			if made := filepath.Join(dir, marker+"-directory"); (os.Remove(made) == nil) != outside {
				t.Errorf("outside: %v: %s is otherwise", outside, made)
			}
		}
	})
}
