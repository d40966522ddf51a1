package selftest

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// nameServers are those of the host. One that does not answer outside is left out: our own listeners prove
// the same on every host.
func (t *test) nameServers() (all []probe) {
	for _, server := range resolvers("/etc/resolv.conf") {
		p := dnsProbe(server).tryOutside()
		if p.controlled {
			all = append(all, p)
		} else {
			t.note(fmt.Sprintf("name server %s does not answer (%s) and was left out", server, p.control))
		}
	}
	return all
}

// resolvers reads the name servers of resolv.conf(5).
func resolvers(path string) (servers []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if _, err := netip.ParseAddr(fields[1]); err == nil {
			servers = append(servers, net.JoinHostPort(fields[1], "53"))
		}
	}
	return servers
}
