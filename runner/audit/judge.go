package audit

import (
	"bytes"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// postgres is PostgreSQL's port and the beginning of its sockets' names.
const (
	postgresPort   = 5432
	postgresSocket = ".s.PGSQL."
)

// answer is what a process is told: an errno, or 0 where the kernel is to go on. An event is noted where
// there is a kind.
type answer struct {
	errno    unix.Errno
	kind     Kind
	address  string
	severity Severity
}

var goOn answer

// surroundings are what is asked about the process that tries something.
type surroundings interface {
	// protocol names the socket's kind for a person, and reports whether it is one of connections.
	protocol() (name string, stream bool)
	// listens reports whether something in its network namespace has the address.
	listens(at netip.AddrPort) bool
	// named reports whether an abstract socket of the name is in its network namespace.
	named(name []byte) bool
	// absolute is a path as it sees it, without looking at what is there; exists looks.
	absolute(path string) string
	exists(absolute string) bool
}

// judgeAddress decides about an address.
func judgeAddress(a address, at surroundings) answer {
	switch {
	case a.inet.IsValid():
		return judgeInet(a, at)
	case a.unix[0] == 0:
		return judgeAbstract(a.unix[1:], at)
	default:
		return judgePath(string(a.unix), at)
	}
}

// judgeInet: what an analysis serves itself can be reached, and nothing else is there. Port 0 is how the C
// library asks for a route.
func judgeInet(a address, at surroundings) answer {
	ip, port := a.inet.Addr(), a.inet.Port()
	if port == 0 {
		return goOn
	}
	local := ip.IsLoopback() || ip.IsUnspecified()
	if local && at.listens(a.inet) {
		return goOn
	}
	protocol, stream := at.protocol()
	refused := answer{errno: unix.ENETUNREACH, kind: Connect, address: protocol + " " + a.inet.String(), severity: Medium}
	if port == postgresPort {
		refused.severity = High
	}
	switch {
	case local && stream:
		refused.errno = unix.ECONNREFUSED
	case local: // a datagram to nobody is lost, and that is no error of connect(2)
		refused.errno = 0
	}
	return refused
}

func judgeAbstract(name []byte, at surroundings) answer {
	if at.named(name) {
		return goOn
	}
	return answer{unix.ECONNREFUSED, Connect, "unix @" + string(name), severityOf(string(name))}
}

// writable are the places where an analysis can make a socket itself.
var writable = [...]string{"/work", "/tmp", "/dev/shm", "/home/analysis"}

// habitual are sockets that the C library tries by itself, and for uuid1 of Python libuuid.
var habitual = [...]string{"/run/nscd/socket", "/var/run/nscd/socket", "/dev/log", "/run/uuidd/request"}

// judgePath: sockets elsewhere are the host's, and out of reach.
func judgePath(path string, at surroundings) answer {
	absolute := at.absolute(path)
	for _, place := range writable {
		if strings.HasPrefix(absolute, place+"/") {
			return goOn
		}
	}
	refused := answer{unix.ENOENT, Connect, "unix " + absolute, severityOf(absolute)}
	if at.exists(absolute) {
		refused.errno = unix.ECONNREFUSED
	}
	for _, place := range habitual {
		if absolute == place {
			refused.kind = "" // it is refused, and not worth an event
		}
	}
	return refused
}

func severityOf(name string) Severity {
	if strings.HasPrefix(filepath.Base(name), postgresSocket) {
		return High
	}
	return Medium
}

// judgeFamily: the families that the filter lets come here are refused as by a kernel without them.
func judgeFamily(domain uint64) answer {
	// The kernel takes an int, whatever the upper half says.
	family := int(int32(uint32(domain)))
	name := families[family]
	if name == "" {
		name = "AF_" + strconv.Itoa(family)
	}
	refused := answer{unix.EAFNOSUPPORT, Socket, name, Medium}
	if family == unix.AF_NETLINK { // the C library looks for the machine's addresses
		refused.severity = Low
	}
	return refused
}

// trimmed bounds an address that is kept.
func trimmed(address string) []byte {
	const most = 256 // bytes
	return bytes.Clone([]byte(address[:min(len(address), most)]))
}
