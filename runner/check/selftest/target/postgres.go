package target

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
)

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
		port = DefaultPort
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
