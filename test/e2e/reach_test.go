package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// targets is what reach.py is told to reach.
type targets struct {
	TCP         [][2]string `json:"tcp"`
	UDP         [][2]string `json:"udp"`
	Abstract    string      `json:"abstract"`
	Socket      string      `json:"socket"`
	PID         int         `json:"pid"`
	Marker      string      `json:"marker"`
	Files       []string    `json:"files"`
	Directories []string    `json:"directories"`
}

// TestReachesNothing tries from outside and from inside to connect to every address of the host and to
// its sockets, to see and signal a process of the host, and to read and write its files.
func TestReachesNothing(t *testing.T) {
	h := newHouse(t)
	ears, at := listenEverywhere(t)
	at.Marker = h.id("canary")
	at.PID = canaryProcess(t, at.Marker)
	at.Directories = writable(t)
	at.Files = canaryFiles(t, at)
	config, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	outside(t, "reach.py", string(config)).each(t, func(_, got string) string {
		return unless(got == "ok", "want ok outside, or it proves nothing")
	})
	for name, ear := range ears {
		if ear.heard() == 0 {
			t.Errorf("%s heard nothing from outside: it proves nothing", name)
		}
	}
	if n := len(at.written()); n != len(at.Directories) {
		t.Errorf("%d directories were written from outside, want all %d", n, len(at.Directories))
	}
	h.inside("reach.py", nil, string(config)).each(t, func(name, got string) string {
		// Whether a datagram arrives and where /tmp is, only the host can say.
		if strings.HasPrefix(name, "udp ") || strings.HasPrefix(name, "write ") {
			return ""
		}
		return unless(got != "ok", "it was reached from inside")
	})
	for name, ear := range ears {
		if n := ear.heard(); n > 0 {
			t.Errorf("%s heard %d times from inside", name, n)
		}
	}
	if made := at.written(); len(made) > 0 {
		t.Errorf("the run wrote %q", made)
	}
}

// written returns what reach.py made, and removes it.
func (at targets) written() (made []string) {
	for _, dir := range at.Directories {
		if path := filepath.Join(dir, at.Marker); os.Remove(path) == nil {
			made = append(made, path)
		}
	}
	return made
}

func unless(good bool, problem string) string {
	if good {
		return ""
	}
	return problem
}

// ear is a listener of the host.
type ear struct {
	t     *testing.T
	count atomic.Int64
	knock func() error // reaches it once
	heads chan struct{}
}

// heard returns how often the ear was reached since the last question. A knock of our own comes after
// everything that was under way, and is not counted.
func (e *ear) heard() int64 {
	e.t.Helper()
	if err := e.knock(); err != nil {
		e.t.Fatal(err)
	}
	<-e.heads
	return e.count.Swap(0)
}

// listenEverywhere listens by TCP and UDP on every address of the host and on two unix sockets.
func listenEverywhere(t *testing.T) (map[string]*ear, targets) {
	t.Helper()
	ears, at := map[string]*ear{}, targets{Abstract: newPrefix(), Socket: filepath.Join(t.TempDir(), "socket")}
	for _, host := range addresses(t) {
		at.TCP = append(at.TCP, [2]string{host, listen(t, ears, "tcp", net.JoinHostPort(host, "0"))})
		at.UDP = append(at.UDP, [2]string{host, hear(t, ears, host)})
	}
	listen(t, ears, "unix", "@"+at.Abstract)
	listen(t, ears, "unix", at.Socket)
	if err := os.Chmod(at.Socket, 0o777); err != nil {
		t.Fatal(err)
	}
	return ears, at
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

// listen counts connections; one that says knock is our own. It returns the port, where there is one.
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
			n, _, err := c.ReadFrom(said)
			if err != nil {
				return
			}
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

// writable are directories of the host where the caller can write.
func writable(t *testing.T) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{"/tmp", "/var/tmp", "/dev/shm", home, t.TempDir()}
	if theHost.root {
		dirs = append(dirs, "/", "/root", "/etc", "/var/lib", "/run", "/usr/local/bin", "/opt")
	}
	return dirs
}

// canaryFiles makes files wherever the caller may, and adds what every host has.
func canaryFiles(t *testing.T, at targets) []string {
	t.Helper()
	files := []string{"/sys/kernel", "/etc/init.d", "/var/lib/dpkg/status", "/etc/login.defs"}
	if theHost.root {
		files = append(files, "/etc/shadow")
	}
	for i, dir := range at.Directories {
		if strings.HasPrefix(dir, "/usr/") { // which everyone may read
			continue
		}
		file := filepath.Join(dir, fmt.Sprintf("%s-%d", at.Marker, i))
		if err := os.WriteFile(file, []byte("canary"), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(file) })
		files = append(files, file)
	}
	return files
}
