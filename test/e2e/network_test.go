package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// encode makes the argument of an attack program.
func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// unreachable is what the kernel says where there is no way, or nobody on the run's own loopback.
var unreachable = []string{"ECONNREFUSED", "ENETUNREACH", "EADDRNOTAVAIL", "ENODEV", "EINVAL"}

// databaseTargets is what database.py is told.
type databaseTargets struct {
	Database database `json:"database"`
	Hosts    []string `json:"hosts"`
	End      string   `json:"end"` // the file that it waits for, if any
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
		if ip := net.ParseIP(host); ip != nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			hosts = append(hosts, "::ffff:"+host)
		}
	}
	if strings.Contains(strings.Join(hosts, " "), "::1") {
		hosts = append(hosts, "::", "::ffff:127.0.0.1")
	}
	return hosts
}

// TestDatabaseIsOutOfReach reads the canary of a real PostgreSQL by every address from outside, and cannot
// from inside, where the server does not even see it try.
func TestDatabaseIsOutOfReach(t *testing.T) {
	h, db := newHouse(t), theDatabase(t)
	at := databaseTargets{Database: db, Hosts: allHosts(t)}
	before := db.connections(t)
	reached := 1 // the connection that asked for the number
	outside(t, "database.py", encode(t, at)).each(t, func(name, got string) string {
		if strings.HasPrefix(name, "mptcp ") && (got == "EPROTONOSUPPORT" || got == "ENOPROTOOPT") {
			return "" // this kernel has no multipath TCP
		}
		reached++
		return unless(got == "ok", "want ok outside, or it proves nothing")
	})
	after := db.connections(t)
	if after-before != reached {
		t.Errorf("the server's log tells of %d connections, want %d: it proves nothing", after-before, reached)
	}
	end := h.flag()
	at.End = "/inputs/flag"
	l := h.launch(h.fresh(), "--input", end.input(), "--project", testdata(t, "."), "--script", testdata(t, "database.py"), encode(t, at))
	l.await("ready")
	if clients := db.clients(t); clients != "0" {
		t.Errorf("the server has %s clients", clients)
	}
	end.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	decodeVerdicts(t, []byte(h.stdoutOf(r))).each(t, func(_, got string) string {
		return unless(slices.Contains(unreachable, got), "want it to reach nothing")
	})
	if n := db.connections(t) - after; n != 2 { // the question for clients, and this one
		t.Errorf("the server's log tells of %d connections while the analysis ran, 2 of them ours", n)
	}
}
