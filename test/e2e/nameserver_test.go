package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// nameserver answers every query for an IPv4 address with one of its own, and remembers the names.
type nameserver struct {
	mu      sync.Mutex
	asked   []string
	packets []net.PacketConn
	streams []net.Listener
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
	reply = append(reply, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4) // the name of the question; to be kept for 0 seconds
	return append(reply, net.ParseIP(answered).To4()...)
}

// heard is how often names with the text were queried.
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

// knock sends a query to every datagram socket, which answers in order.
func (n *nameserver) knock(t *testing.T) {
	t.Helper()
	query := append(make([]byte, 12), "\x05knock\x00\x00\x01\x00\x01"...)
	for _, packets := range n.packets {
		c, err := net.Dial("udp", packets.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(hangTimeout))
		if _, err := c.Write(query); err != nil {
			t.Error(err)
		}
		if _, err := c.Read(make([]byte, 512)); err != nil {
			t.Errorf("the name server at %s does not answer: %v", c.RemoteAddr(), err)
		}
		c.Close()
	}
}

func (n *nameserver) servePackets(c net.PacketConn) {
	query := make([]byte, 512)
	for {
		size, from, err := c.ReadFrom(query)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if reply := n.answer(query[:size]); reply != nil {
			_, _ = c.WriteTo(reply, from) // the client may be gone
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

// close gives the ports back. It may be called again.
func (n *nameserver) close() {
	for _, c := range n.packets {
		c.Close()
	}
	for _, l := range n.streams {
		l.Close()
	}
}

// serve answers on an address; port 0 is any.
func (n *nameserver) serve(host string, port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return 0, err
	}
	n.streams = append(n.streams, l)
	port = l.Addr().(*net.TCPAddr).Port
	c, err := net.ListenPacket("udp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return 0, err
	}
	n.packets = append(n.packets, c)
	go n.servePackets(c)
	go n.serveStreams(l)
	return port, nil
}

// group is the one of multicast DNS (RFC 6762), here with another port.
var group = net.IPv4(224, 0, 0, 251)

// serveGroup answers multicast queries on loopback.
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

// serveEverywhere answers on every address of the host: on port 53, which the C library uses, if the caller may have
// it.
func (n *nameserver) serveEverywhere(a *arena) {
	t := a.h.t
	t.Helper()
	library := theHost.root
	var servers [][2]any
	for _, host := range addresses(t) {
		port, err := 0, error(syscall.EACCES)
		if theHost.root {
			port, err = n.serve(host, 53)
		}
		if err != nil { // a user, or this host has a name server
			library = library && host != "127.0.0.1"
			port, err = n.serve(host, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, [2]any{host, port})
	}
	a.told["servers"], a.told["library"] = servers, library
	a.told["group"] = [2]any{group.String(), n.serveGroup(t)}
}
