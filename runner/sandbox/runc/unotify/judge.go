package unotify

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// Ports and names that classify an attempt.
const (
	domainPort     = 53
	postgresPort   = 5432
	postgresSocket = ".s.PGSQL."
)

// habitual sockets are tried by the C library, and for Python's uuid1 by libuuid.
var habitual = [...]string{"/run/nscd/socket", "/var/run/nscd/socket", "/dev/log", "/run/uuidd/request"}

// attempt makes an event if it has a kind.
type attempt struct {
	kind     audit.Kind
	address  string
	severity audit.Severity
	allowed  bool // nothing is known to prevent it
}

// surroundings answers questions about the calling process.
type surroundings interface {
	// protocol names the socket's: "tcp", "udp", "ip", "unix"; empty if the descriptor is no socket.
	protocol() string
	// listens reports whether a socket in its network namespace has the address.
	listens(at netip.AddrPort) bool
	// named reports whether its network namespace has an abstract socket of the name.
	named(name []byte) bool
	// absolute returns a readable path; locate classifies it.
	absolute(path string) string
	locate(path string) pathClass
}

// pathClass says whose socket a path is, if any.
type pathClass int

const (
	own     pathClass = iota // the analysis can make a socket there
	missing                  // the same, but nothing exists
	nowhere                  // missing, and the analysis cannot make it
	walled                   // exists, but cannot be connected to
	bare                     // a socket of the host, with no known wall before it
)

// judge classifies a call with an address; send is for sendto(2).
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

// judgeInet: only the analysis' own servers can be reached. With port 0 the C library looks up a route.
func judgeInet(to netip.AddrPort, send bool, at surroundings) attempt {
	local := to.Addr().IsLoopback() || to.Addr().IsUnspecified()
	if to.Port() == 0 || local && at.listens(to) {
		return attempt{}
	}
	protocol := at.protocol()
	switch {
	case protocol == "" || protocol == "unix": // the kernel returns an error
		return attempt{}
	case protocol == "udp" && local && !send && to.Port() != domainPort:
		// connect(2) sends nothing; the C library makes one for each address that it sorts (RFC 3484).
		return attempt{}
	}
	tried := attempt{kind: audit.Connect, address: protocol + " " + to.String(), severity: audit.Medium}
	if to.Port() == postgresPort {
		tried.severity = audit.High
	}
	return tried
}

func judgeAbstract(name []byte, at surroundings) attempt {
	if at.named(name) || at.protocol() != "unix" {
		return attempt{}
	}
	return attempt{kind: audit.Connect, address: "unix @" + string(name), severity: severityOf(string(name))}
}

// judgePath: a socket where the analysis cannot make one is the host's.
func judgePath(path string, at surroundings) attempt {
	where, absolute := at.locate(path), at.absolute(path)
	tried := attempt{kind: audit.Connect, address: "unix " + absolute, severity: severityOf(absolute)}
	switch {
	case where == own, where == missing && tried.severity != audit.High:
		return attempt{}
	case where == bare:
		tried.severity, tried.allowed = audit.High, true
	case slices.Contains(habitual[:], absolute):
		return attempt{}
	}
	if at.protocol() != "unix" {
		return attempt{}
	}
	return tried
}

func severityOf(name string) audit.Severity {
	if strings.HasPrefix(filepath.Base(name), postgresSocket) {
		return audit.High
	}
	return audit.Medium
}

// judgeFamily: only refused families are notified.
func judgeFamily(domain uint64) attempt {
	// The kernel takes an int and ignores the upper half.
	family := int(int32(uint32(domain)))
	name := families[family]
	if name == "" {
		name = "AF_" + strconv.Itoa(family)
	}
	tried := attempt{kind: audit.Socket, address: name, severity: audit.Medium}
	if family == unix.AF_NETLINK { // the C library lists the machine's addresses
		tried.severity = audit.Low
	}
	return tried
}
