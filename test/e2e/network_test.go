package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// addDatabase starts a real PostgreSQL on every address of the host. Its log has what it received.
func (a *arena) addDatabase() {
	t := a.h.t
	t.Helper()
	db := theDatabase(t)
	a.told["database"], a.told["hosts"] = db, allHosts(t)
	a.unconnected(db)
}

// unconnected checks that the database was reached outside, and inside not even tried.
func (a *arena) unconnected(db database) {
	t := a.h.t
	t.Helper()
	before := db.connections(t)
	a.checks = append(a.checks, func(outside bool) {
		reached := db.connections(t) - before - 1 // the last is the query of the test
		if outside && reached == 0 {
			t.Error("the database's log tells of no connection from outside: it proves nothing")
		}
		if !outside && reached > 0 {
			t.Errorf("the database's log tells of %d connections", reached)
		}
		if clients := db.clients(t); clients != "0" {
			t.Errorf("the database has %s clients", clients)
		}
	})
}

// allHosts are the addresses of the host and those that the kernel takes for one of them. Interfaces are
// named by number: inside there may be none of that name.
func allHosts(t *testing.T) []string {
	t.Helper()
	hosts := append(addresses(t), "0.0.0.0", "127.0.0.2")
	for i, host := range hosts {
		if ip, name, ok := strings.Cut(host, "%"); ok {
			link, err := net.InterfaceByName(name)
			if err != nil {
				t.Fatal(err)
			}
			hosts[i] = fmt.Sprint(ip, "%", link.Index)
			continue
		}
		if ip := net.ParseIP(host); ip.To4() != nil && ip.IsGlobalUnicast() {
			hosts = append(hosts, "::ffff:"+host)
		}
	}
	if strings.Contains(strings.Join(hosts, " "), "::1") {
		hosts = append(hosts, "::", "::ffff:127.0.0.1")
	}
	return hosts
}

// addNameserver starts a name server on every address of the host.
func (a *arena) addNameserver() {
	t := a.h.t
	t.Helper()
	n := &nameserver{}
	t.Cleanup(n.close)
	n.serveEverywhere(a)
	name := a.told["marker"].(string) + ".test"
	a.told["name"], a.told["answer"] = name, answered
	a.told["hide"], a.within["hide"] = true, false
	a.checks = append(a.checks, func(outside bool) {
		defer n.close() // port 53 is the next arena's
		if outside && a.told["library"] == false {
			fmt.Printf("%s does not cover the C library's resolver: port 53 of 127.0.0.1 is not to be had\n", t.Name())
		}
		n.knock(t) // comes after everything that was under way
		heard := n.heard(name)
		if outside && heard == 0 {
			t.Error("the name server heard nothing from outside: it proves nothing")
		}
		if !outside && heard > 0 {
			t.Errorf("the name server was asked %d times", heard)
		}
	})
}

// addAbstract makes sockets with abstract names. A client of the stream socket reaches a database.
func (a *arena) addAbstract() {
	t := a.h.t
	t.Helper()
	db := theDatabase(t)
	name := a.told["marker"].(string)
	db.relay(t, "unix", "@"+name)
	silent := listenSilently(t, "@"+name)
	a.told["database"] = db
	a.told["abstract"] = map[string]string{"stream": name, "packet": name + "packet", "datagram": name + "datagram"}
	a.unconnected(db)
	a.checks = append(a.checks, func(outside bool) {
		if got := silent.heard(); outside != (len(got) == 2) || !outside && len(got) > 0 {
			t.Errorf("%q were reached; outside: %v", got, outside)
		}
	})
}

// silent are sockets that answer nothing.
type silent struct {
	packet   *net.UnixListener
	datagram *net.UnixConn
}

// listenSilently makes sockets of the other two types; their names begin with the prefix.
func listenSilently(t *testing.T, prefix string) (s silent) {
	t.Helper()
	var err error
	if s.packet, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: prefix + "packet", Net: "unixpacket"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.packet.Close() })
	if s.datagram, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: prefix + "datagram", Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.datagram.Close() })
	return s
}

// heard returns which of them were reached: a connection and a datagram wait in the socket.
func (s silent) heard() (found []string) {
	soon := time.Now().Add(50 * time.Millisecond)
	_, _ = s.packet.SetDeadline(soon), s.datagram.SetDeadline(soon)
	if c, err := s.packet.Accept(); err == nil {
		c.Close()
		found = append(found, "packet")
	}
	if n, _, _ := s.datagram.ReadFrom(make([]byte, 100)); n > 0 {
		found = append(found, "datagram")
	}
	return found
}
