package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// nameserver answers every question for an IPv4 address with one of its own, and remembers the names.
type nameserver struct {
	mu    sync.Mutex
	asked []string
}

// answered is an address for documentation (RFC 5737).
const answered = "192.0.2.53"

// answer makes the reply to a query of one question (RFC 1035, 4.1), or nil.
func (n *nameserver) answer(query []byte) []byte {
	const header = 12
	var labels []string
	at := header
	for at < len(query) && query[at] > 0 && at+1+int(query[at]) < len(query) {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
		at += 1 + int(query[at])
	}
	end := at + 5 // the root's label, type and class
	if end > len(query) {
		return nil
	}
	n.mu.Lock()
	n.asked = append(n.asked, strings.Join(labels, "."))
	n.mu.Unlock()
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0}, query[header:end]...)
	if binary.BigEndian.Uint16(query[at+1:]) != 1 { // not an IPv4 address: there is none
		reply[7] = 0
		return reply
	}
	reply = append(reply, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4) // the name of the question, for now
	return append(reply, net.ParseIP(answered).To4()...)
}

// heard is how often names with the text were asked for.
func (n *nameserver) heard(text string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range n.asked {
		if strings.Contains(name, text) {
			count++
		}
	}
	return count
}

func (n *nameserver) servePackets(c net.PacketConn) {
	query := make([]byte, 512)
	for {
		size, from, err := c.ReadFrom(query)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if reply := n.answer(query[:size]); reply != nil {
			_, _ = c.WriteTo(reply, from) // who asked may be gone
		}
	}
}

func (n *nameserver) serveStreams(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		size := make([]byte, 2)
		_, err = io.ReadFull(c, size)
		query := make([]byte, binary.BigEndian.Uint16(size))
		if _, more := io.ReadFull(c, query); err == nil && more == nil {
			reply := n.answer(query)
			_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)) // as above
		}
		c.Close()
	}
}

// serve answers on an address; port 0 is any.
func (n *nameserver) serve(t *testing.T, host string, port int) (int, error) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return 0, err
	}
	t.Cleanup(func() { l.Close() })
	port = l.Addr().(*net.TCPAddr).Port
	c, err := net.ListenPacket("udp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return 0, err
	}
	t.Cleanup(func() { c.Close() })
	go n.servePackets(c)
	go n.serveStreams(l)
	return port, nil
}

// group is the one of multicast DNS (RFC 6762), here with a port of our own.
var group = net.IPv4(224, 0, 0, 251)

// serveGroup answers who asks everyone on loopback.
func (n *nameserver) serveGroup(t *testing.T) (port int) {
	t.Helper()
	loopback, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenMulticastUDP("udp4", loopback, &net.UDPAddr{IP: group})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go n.servePackets(c)
	return c.LocalAddr().(*net.UDPAddr).Port
}

// nameTargets is what names.py is told.
type nameTargets struct {
	Servers [][2]any `json:"servers"`
	Group   [2]any   `json:"group"`
	Name    string   `json:"name"`
	Answer  string   `json:"answer"`
	Library bool     `json:"library"` // ask through the C library too
}

// serveEverywhere answers on every address of the host: on port 53 where the caller may have it.
func (n *nameserver) serveEverywhere(t *testing.T) nameTargets {
	t.Helper()
	at := nameTargets{Answer: answered, Group: [2]any{group.String(), n.serveGroup(t)}, Library: theHost.root}
	for _, host := range addresses(t) {
		port, err := 0, error(syscall.EACCES)
		if theHost.root {
			port, err = n.serve(t, host, 53)
		}
		if err != nil { // a user, or this host has a name server
			at.Library = at.Library && host != "127.0.0.1"
			port, err = n.serve(t, host, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		at.Servers = append(at.Servers, [2]any{host, port})
	}
	if !at.Library {
		fmt.Printf("%s does not cover the C library's resolver: port 53 of 127.0.0.1 is not to be had\n", t.Name())
	}
	return at
}

// TestNameServersAreOutOfReach asks for names from outside and inside.
func TestNameServersAreOutOfReach(t *testing.T) {
	h, n := newHouse(t), &nameserver{}
	at := n.serveEverywhere(t)
	at.Name = h.id("outside") + ".test"
	control := outside
	if at.Library {
		control = withoutResolver
	}
	all := control(t, "names.py", encode(t, at))
	all.each(t, func(_, got string) string { return unless(got == "ok", "want ok outside, or it proves nothing") })
	if heard := n.heard("outside"); heard < len(all) {
		t.Errorf("the name server heard %d questions from outside, want %d: it proves nothing", heard, len(all))
	}
	at.Name = h.id("inside") + ".test"
	h.inside("names.py", nil, encode(t, at)).each(t, func(_, got string) string {
		return unless(got != "ok", "it was answered inside")
	})
	at.Name = h.id("after") + ".test" // after everything that was under way
	control(t, "names.py", encode(t, at))
	if heard := n.heard("inside"); heard > 0 {
		t.Errorf("the name server heard %d questions from inside", heard)
	}
}

// withoutResolver is outside, but where the C library finds no /etc/resolv.conf, as inside: it then asks
// 127.0.0.1 (resolv.conf(5)).
func withoutResolver(t *testing.T, program string, args ...string) verdicts {
	t.Helper()
	script := `mount --bind /dev/null /etc/resolv.conf && exec /usr/bin/python3 -B "$@"`
	out, err := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, "sh", testdata(t, program)}, args...)...).Output()
	if err != nil {
		t.Fatalf("control of %s: %v\n%s", program, err, stderrOf(err))
	}
	return decodeVerdicts(t, out)
}
