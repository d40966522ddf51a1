package binds

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/testhole"
)

// Host is what of the host a bound file could expose. Paths are absolute; empty ones are ignored.
type Host struct {
	Private []string // scidex-oci's own data: its root, and further files and directories
	Key     string   // the private key that signs statements
	Tmp     string   // where runs have their working directories
	// DatabaseHosts are those of the catalog's database; absolute paths are directories of sockets.
	DatabaseHosts []string
	UID           int // the caller's
	// Getenv returns a variable of the launcher's environment, "" if it is not set.
	Getenv func(name string) string
}

const (
	ofScidex   = "where scidex-oci keeps its catalog, blobs and locks"
	ofKey      = "the private key that signs statements (--sign-key)"
	ofPostgres = "where PostgreSQL has its sockets"
	ofServices = "where services of this host have their sockets"
)

// sites are all that a bind must not show.
func (h Host) sites() []site {
	var sites []site
	for _, path := range h.Private {
		sites = append(sites, site{path: path, what: ofScidex, whole: true})
	}
	sites = append(sites, site{path: h.Key, what: ofKey, whole: true})
	sites = append(sites, site{path: h.Tmp, what: "where runs have their working directories (--tmp)"})
	for _, name := range []string{"docker.sock", "containerd", "podman", "dbus", "systemd", "user/" + strconv.Itoa(h.UID)} {
		sites = append(sites, site{path: "/run/" + name, what: ofServices})
	}
	sites = append(sites, ownSockets(h.Getenv)...)
	if testhole.Open {
		return sites
	}
	return append(sites, databaseSites(append(strings.Split(h.Getenv("PGHOST"), ","), h.DatabaseHosts...))...)
}

// databaseSites are the directories where PostgreSQL listens: the usual ones, and those among hosts. Its default is /tmp, which has
// much else: only what is or contains it is refused.
func databaseSites(hosts []string) []site {
	sites := []site{{path: "/tmp", what: ofPostgres}}
	for _, host := range append([]string{"/run/postgresql", "/var/run/postgresql"}, hosts...) {
		if filepath.IsAbs(host) && filepath.Clean(host) != "/tmp" {
			sites = append(sites, site{path: host, what: ofPostgres, whole: true})
		}
	}
	return sites
}

// ownSockets are the sockets of services in the launcher's environment.
func ownSockets(env func(name string) string) (sites []site) {
	add := func(name, path string) {
		if filepath.IsAbs(path) {
			sites = append(sites, site{path: path, what: "where " + name + " has its socket"})
		}
	}
	for _, name := range []string{"SSH_AUTH_SOCK", "NOTIFY_SOCKET", "XDG_RUNTIME_DIR"} {
		add(name, env(name))
	}
	for _, name := range []string{"DOCKER_HOST", "CONTAINER_HOST"} {
		if path, ok := strings.CutPrefix(env(name), "unix://"); ok {
			add(name, path)
		}
	}
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"} {
		for _, path := range busPaths(env(name)) {
			add(name, path)
		}
	}
	agent, _, _ := strings.Cut(env("GPG_AGENT_INFO"), ":") // PATH:PID:VERSION
	add("GPG_AGENT_INFO", agent)
	if display := env("WAYLAND_DISPLAY"); filepath.IsAbs(display) {
		add("WAYLAND_DISPLAY", display)
	} else if display != "" {
		add("WAYLAND_DISPLAY", filepath.Join(env("XDG_RUNTIME_DIR"), display))
	}
	return sites
}

// busPaths are the paths of a list of D-Bus addresses (D-Bus specification, "Server Addresses"):
// unix:path=/run/x,guid=0;unix:dir=/tmp with escapes.
func busPaths(addresses string) (paths []string) {
	for address := range strings.SplitSeq(addresses, ";") {
		pairs, ok := strings.CutPrefix(address, "unix:")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(pairs, ",") {
			key, value, _ := strings.Cut(pair, "=")
			path, err := url.PathUnescape(value)
			if err == nil && (key == "path" || key == "dir" || key == "tmpdir") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
