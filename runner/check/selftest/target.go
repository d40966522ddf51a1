package selftest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Target is a service that no analysis may reach. It holds no user, password or database, so that no secret is kept or
// shown.
type Target struct {
	// Host and Port of a TCP service; Host is a name or an address.
	Host, Port string
	// Socket is the absolute path of a unix socket, or "@" and the name of an abstract one.
	Socket string
	// Usual stands for what a client of PostgreSQL tries without a host: localhost and the sockets in the usual directories,
	// with Port or, if empty, with any port.
	Usual bool
}

// DefaultTarget is where PostgreSQL listens by default.
var DefaultTarget = Target{Usual: true}

// defaultPort of PostgreSQL.
const defaultPort = "5432"

// String names the target as a person types it.
func (t Target) String() string {
	switch {
	case t.Usual:
		return "PostgreSQL on this host"
	case t.Socket != "":
		return t.Socket
	}
	return net.JoinHostPort(t.Host, t.Port)
}

// maxSocket is the longest path of a unix socket in bytes, without its NUL (unix(7)).
const maxSocket = 107

// ParseTarget parses a URL, HOST:PORT, a socket's path or "@" and the name of an abstract one. The URL of a PostgreSQL database
// may name several hosts. The error is one sentence and repeats no secret.
func ParseTarget(text string) ([]Target, error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case strings.ContainsRune(text, 0):
		return nil, refuse(text, "has a NUL byte; take it out")
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		targets, err := parsePostgres(rest)
		if err != nil {
			return nil, refuse(text, err.Error())
		}
		return targets, nil
	case isURL:
		return one(parseURL(text))
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "@"):
		return one(socketTarget(text))
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || !isPort(port) {
		return nil, refuse(text, "is no target; give HOST:PORT, a URL such as postgres://HOST:PORT/DATABASE, the path of a socket, or @NAME for an abstract one")
	}
	return []Target{{Host: host, Port: port}}, nil
}

func one(t Target, err error) ([]Target, error) {
	if err != nil {
		return nil, err
	}
	return []Target{t}, nil
}

func socketTarget(path string) (Target, error) {
	switch {
	case len(path) > maxSocket:
		return Target{}, refuse(path, fmt.Sprintf("is longer than the %d bytes that a socket's address may have; give a shorter path", maxSocket))
	case path == "/" || path == "@":
		return Target{}, refuse(path, "names no socket; give its absolute path, or @NAME for an abstract one")
	case path[0] == '/':
		path = filepath.Clean(path)
	}
	return Target{Socket: path}, nil
}

// ports are the default ports of the other schemes; tcp has none.
var ports = map[string]string{"http": "80", "https": "443", "tcp": ""}

func parseURL(text string) (Target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Target{}, refuse(text, "is no URL; give one such as postgres://HOST:PORT/DATABASE, or HOST:PORT")
	}
	port, known := ports[u.Scheme]
	if !known {
		return Target{}, refuse(text, "is of a kind that cannot be tried; give a postgres, http, https or tcp URL, HOST:PORT, or a socket")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if u.Hostname() == "" || !isPort(port) {
		return Target{}, refuse(text, "names no host or no port; give "+u.Scheme+"://HOST:PORT")
	}
	return Target{Host: u.Hostname(), Port: port}, nil
}

// isPort reports whether text is a port number without leading zeros.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == text
}

func refuse(text, why string) error {
	return fmt.Errorf("target %s %s", shown(text), why)
}

// shown is the part of a target that an error can repeat: a URL may hold a password anywhere.
func shown(text string) string {
	if scheme, _, isURL := strings.Cut(text, "://"); isURL {
		text = scheme + "://..."
	} else if at := strings.LastIndex(text, "@"); at > 0 {
		text = "..." + text[at:]
	}
	return strconv.Quote(format.Cut(text, 120))
}

// parsePostgres parses a PostgreSQL URL after its scheme: [USER[:PASSWORD]@][HOST[:PORT][,...]][/DATABASE][?PARAMETERS],
// where a host may be a directory of sockets, as %2Frun%2Fpostgresql or as the parameter host (the manual of libpq,
// "Connection URIs"). Errors are the rest of a sentence and repeat nothing of the URL.
func parsePostgres(rest string) ([]Target, error) {
	authority, parameters := splitAuthority(rest)
	hosts, ports, err := hostsOf(authority)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(parameters)
	if err != nil {
		return nil, errors.New("has parameters that cannot be read; give NAME=VALUE, with % codes for special characters")
	}
	// A client connects to hostaddr, whatever host says.
	for _, name := range []string{"host", "hostaddr"} {
		if value := query.Get(name); value != "" {
			hosts = strings.Split(value, ",")
		}
	}
	if value := query.Get("port"); value != "" {
		ports = strings.Split(value, ",")
	}
	if len(ports) == 1 {
		ports = slices.Repeat(ports, len(hosts))
	}
	if len(ports) != len(hosts) {
		return nil, errors.New("has not as many ports as hosts; give one port for each host, or one for all")
	}
	var targets []Target
	for i, host := range hosts {
		target, err := postgresTarget(host, ports[i])
		if err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	return targets, nil
}

// splitAuthority returns the part with hosts and ports, and the parameters.
func splitAuthority(rest string) (authority, parameters string) {
	rest, _, _ = strings.Cut(rest, "#")
	rest, parameters, _ = strings.Cut(rest, "?")
	authority, _, _ = strings.Cut(rest, "/")
	return authority[strings.LastIndex(authority, "@")+1:], parameters
}

// hostsOf splits HOST[:PORT],...; a missing port is "".
func hostsOf(authority string) (hosts, ports []string, err error) {
	for one := range strings.SplitSeq(authority, ",") {
		host, port := one, ""
		if end := strings.LastIndex(one, "]"); strings.HasPrefix(one, "[") && end > 0 {
			host, port = one[1:end], strings.TrimPrefix(one[end+1:], ":")
		} else if colon := strings.LastIndex(one, ":"); colon >= 0 {
			host, port = one[:colon], one[colon+1:]
		}
		if host, err = url.PathUnescape(host); err != nil {
			return nil, nil, errors.New("has a host with a % code that cannot be read; write % as %25")
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	return hosts, ports, nil
}

func postgresTarget(host, port string) (Target, error) {
	given := port
	if port == "" {
		port = defaultPort
	}
	switch {
	case !isPort(port):
		return Target{}, errors.New("has a port that is none; give a number from 1 to 65535")
	case strings.ContainsRune(host, 0):
		return Target{}, errors.New("has a host with a NUL byte; take it out")
	case host == "":
		return Target{Usual: true, Port: given}, nil
	case strings.HasPrefix(host, "/"), strings.HasPrefix(host, "@"):
		return socketIn(host, port)
	}
	return Target{Host: host, Port: port}, nil
}

// socketIn is the socket of a server with this port in the directory.
func socketIn(dir, port string) (Target, error) {
	socket := path.Join(dir, ".s.PGSQL."+port)
	if len(socket) > maxSocket {
		return Target{}, errors.New("has a directory with too long a name for a socket; give a shorter one")
	}
	return Target{Socket: socket}, nil
}
