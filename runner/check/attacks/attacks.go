// Package attacks has the answers that prove that an attack is held. selftest and the attacks of test/e2e/testdata/attacks,
// whose programs have nothing else in common, look them up here.
package attacks

import (
	"slices"
	"strings"
)

// table has the attacks by name, with the names of errors in errno(3), or a word for what has none.
var table = [...]struct{ name, held string }{
	// A host that an address of its own names: no interface inside has a route to it. Any other error came over a network.
	{"network", "ENETUNREACH EHOSTUNREACH EADDRNOTAVAIL ENETDOWN EACCES EPERM"},
	// An address with the name of an interface, which does not exist inside.
	{"zone", "EINVAL ENODEV ENETUNREACH EHOSTUNREACH EADDRNOTAVAIL ENETDOWN EACCES EPERM"},
	// The container has a loopback of its own, on which nothing listens.
	{"loopback", "ECONNREFUSED EADDRNOTAVAIL ENETUNREACH EACCES EPERM"},
	// The name of a host, to resolve: no name server is within reach.
	{"name", "unresolved"},
	// The same, to connect to it.
	{"host", "unresolved ENETUNREACH EHOSTUNREACH EADDRNOTAVAIL ENETDOWN EACCES EPERM"},
	// A host that the run's proxy is asked for.
	{"proxy", "refused"},
	// The path of a unix socket of the host. An overlay shuts those in bound directories.
	{"socket", "ENOENT ENOTDIR ECONNREFUSED EACCES EPERM"},
	// The name of an abstract one: the network namespace has others.
	{"abstract", "ECONNREFUSED EACCES EPERM"},
	// A FIFO in a bound directory.
	{"fifo", "ENXIO EROFS EACCES EPERM"},
	// A change of what is given to read, or of the root filesystem.
	{"write", "EROFS EACCES EPERM"},
	// A path of the host that the run has not.
	{"hidden", "ENOENT ENOTDIR EACCES EPERM"},
	// What another run has left, by a path, a key or a name.
	{"mark", "ENOENT"},
	// What /proc has of the container's init.
	{"init", "EACCES EPERM"},
	// A signal to a process of the host, whose number means nothing inside.
	{"signal", "ESRCH EACCES EPERM"},
	// System calls for a privileged process.
	{"privilege", "EPERM ENOSPC"},
	// A socket of an address family that no analysis needs.
	{"family", "EAFNOSUPPORT EPERM EACCES ENOSYS"},
}

// Answers returns the answers to an attack that prove that it is held; none if no attack has the name.
func Answers(attack string) []string {
	for _, row := range table {
		if row.name == attack {
			return strings.Fields(row.held)
		}
	}
	return nil
}

// Held reports whether the answer proves that an attack is held.
func Held(attack, answer string) bool { return slices.Contains(Answers(attack), answer) }
