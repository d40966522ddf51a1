package audit

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Ports and names by which an attempt is told.
const (
	domainPort     = 53
	postgresPort   = 5432
	postgresSocket = ".s.PGSQL."
)

// habitual are sockets that the C library tries by itself, and for uuid1 of Python libuuid.
var habitual = [...]string{"/run/nscd/socket", "/var/run/nscd/socket", "/dev/log", "/run/uuidd/request"}

// attempt is worth an event where it has a kind.
type attempt struct {
	kind     Kind
	address  string
	severity Severity
	allowed  bool // as far as is known, nothing keeps it from happening
}

// surroundings are what is asked about the process that tries something.
type surroundings interface {
	// protocol names the socket's: "tcp", "udp", "ip", "unix"; empty where the descriptor is no socket.
	protocol() string
	// listens reports whether something in its network namespace has the address.
	listens(at netip.AddrPort) bool
	// named reports whether an abstract socket of the name is in its network namespace.
	named(name []byte) bool
	// absolute is a path for a person; locate looks at what is there.
	absolute(path string) string
	locate(path string) place
}

// place says whose a path is.
type place int

const (
	own     place = iota // where the analysis can make a socket
	missing              // the same, and nothing is there
	nowhere              // not there, and the analysis cannot make it
	walled               // there, and no connection to it comes about
	bare                 // a socket of the host, and nothing is known to stand before it
)

// judge says what is worth noting of a call that names an address; send says that it is sendto(2).
func judge(a address, send bool, at surroundings) attempt {
	switch {
	case a.inet.IsValid():
		return judgeInet(a.inet, send, at)
	case a.unix[0] == 0:
		return judgeAbstract(a.unix[1:], at)
	default:
		return judgePath(string(a.unix), at)
	}
}

// judgeInet: what an analysis serves itself can be reached, and nothing else is there. Port 0 is how the C
// library asks for a route.
func judgeInet(to netip.AddrPort, send bool, at surroundings) attempt {
	local := to.Addr().IsLoopback() || to.Addr().IsUnspecified()
	if to.Port() == 0 || local && at.listens(to) {
		return attempt{}
	}
	protocol := at.protocol()
	switch {
	case protocol == "" || protocol == "unix": // the kernel refuses it as a mistake
		return attempt{}
	case protocol == "udp" && local && !send && to.Port() != domainPort:
		// connect(2) sends nothing, and the C library makes one for each address that it sorts (RFC 3484).
		return attempt{}
	}
	tried := attempt{kind: Connect, address: protocol + " " + to.String(), severity: Medium}
	if to.Port() == postgresPort {
		tried.severity = High
	}
	return tried
}

func judgeAbstract(name []byte, at surroundings) attempt {
	if at.named(name) || at.protocol() != "unix" {
		return attempt{}
	}
	return attempt{kind: Connect, address: "unix @" + string(name), severity: severityOf(string(name))}
}

// judgePath: sockets where the analysis cannot make one are the host's.
func judgePath(path string, at surroundings) attempt {
	where, absolute := at.locate(path), at.absolute(path)
	tried := attempt{kind: Connect, address: "unix " + absolute, severity: severityOf(absolute)}
	switch {
	case where == own, where == missing && tried.severity != High:
		return attempt{}
	case where == bare:
		tried.severity, tried.allowed = High, true
	case slices.Contains(habitual[:], absolute):
		return attempt{}
	}
	if at.protocol() != "unix" {
		return attempt{}
	}
	return tried
}

func severityOf(name string) Severity {
	if strings.HasPrefix(filepath.Base(name), postgresSocket) {
		return High
	}
	return Medium
}

// judgeFamily: the families that are asked about are those that are refused.
func judgeFamily(domain uint64) attempt {
	// The kernel takes an int, whatever the upper half says.
	family := int(int32(uint32(domain)))
	name := families[family]
	if name == "" {
		name = "AF_" + strconv.Itoa(family)
	}
	tried := attempt{kind: Socket, address: name, severity: Medium}
	if family == unix.AF_NETLINK { // the C library looks for the machine's addresses
		tried.severity = Low
	}
	return tried
}
