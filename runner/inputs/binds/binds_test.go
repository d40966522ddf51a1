package binds

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/testhole"
)

// keepOut checks a path against sites and restrictions as an input is.
func keepOut(t *testing.T, path string, sites []site, allowed ...Allowed) error {
	t.Helper()
	b, err := newBoundary(sites, allowed, quiet())
	inodetest.Try(t, err)
	_, err = b.Check("--data", inodetest.Open(t, path))
	return err
}

func TestSitesAreKeptOut(t *testing.T) {
	dir := inodetest.Tree(t, "run/sockets/inner/1", "run/beside/1", "root/blobs/1", "root/catalog.db", "free/1", "gone/")
	at := func(name string) string { return filepath.Join(dir, name) }
	inodetest.Try(t, os.Symlink("sockets", at("run/link")), os.Symlink("run", at("alias")), os.Symlink("nowhere", at("dangling")),
		os.Link(at("root/catalog.db"), at("free/other-name")))
	sites := []site{
		{path: at("alias/sockets"), what: "SOCKETS"},
		{path: at("root"), what: "ROOT", whole: true},
		{path: at("root/catalog.db"), what: "CATALOG", whole: true},
		{path: at("gone/deep/socket"), what: "GONE", whole: true},
		{path: at("dangling/socket"), what: "DANGLING"},
		{path: "", what: "UNSET"},
		{path: "relative", what: "RELATIVE"},
	}
	for name, c := range map[string]struct {
		path string
		want []string
	}{
		"the site":             {"run/sockets", []string{"is SOCKETS", "choose another"}},
		"by a link":            {"run/link", []string{"is SOCKETS", at("run/sockets")}},
		"by a link above":      {"alias/sockets", []string{"is SOCKETS"}},
		"the parent":           {"run", []string{"holds", at("run/sockets"), "SOCKETS", "the part of it"}},
		"the parent by a link": {"alias", []string{"holds", "SOCKETS"}},
		"far above":            {"", []string{"holds"}},
		"the root directory":   {"/", []string{"holds"}},
		"below, where it may":  {"run/sockets/inner", nil},
		"beside":               {"run/beside", nil},
		"free":                 {"free/1", nil},
		"root":                 {"root", []string{"is ROOT"}},
		"below root":           {"root/blobs", []string{"lies in", at("root"), "ROOT"}},
		"a file in root":       {"root/blobs/1", []string{"lies in"}},
		"another name of it":   {"free/other-name", []string{"is CATALOG"}},
		"where it would be":    {"gone", []string{"holds", at("gone/deep/socket")}},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path
			if !filepath.IsAbs(path) {
				path = at(path)
			}
			inodetest.ExpectRefusal(t, keepOut(t, path, sites), c.want...)
		})
	}
}

func TestLivingRunsAreKeptOut(t *testing.T) {
	run := inodetest.Tree(t, lockdir.RunPrefix+"x/work/") + "/" + lockdir.RunPrefix + "x"
	held, err := os.Open(run)
	inodetest.Try(t, err, lockdir.LockRun(held))
	for _, path := range []string{"", "/work"} {
		inodetest.ExpectRefusal(t, keepOut(t, run+path, nil), run, "has not ended")
	}
	inodetest.Try(t, held.Close())
	inodetest.ExpectRefusal(t, keepOut(t, run, nil))
}

func TestWhatIsGoneIsRefused(t *testing.T) {
	dir := inodetest.Tree(t, "d/", "f")
	for _, name := range []string{"d", "f"} {
		f := inodetest.Open(t, filepath.Join(dir, name))
		inodetest.Try(t, os.Remove(filepath.Join(dir, name)))
		if _, err := identify(f, nil); err == nil || !strings.Contains(err.Error(), "removed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTrail(t *testing.T) {
	dir := inodetest.Tree(t, "a/b/file")
	fromFile, err := identify(inodetest.Open(t, dir+"/a/b/file"), nil)
	inodetest.Try(t, err)
	fromDir, err := identify(inodetest.Open(t, dir+"/a"), nil)
	inodetest.Try(t, err)
	if n := len(strings.Split(fromFile.path, "/")); len(fromFile.ids) != n {
		t.Errorf("%d inodes on the way from %s to the root, want %d", len(fromFile.ids), fromFile.path, n)
	}
	if !slices.Equal(fromFile.ids[2:], fromDir.ids) {
		t.Errorf("%v does not end in %v", fromFile.ids, fromDir.ids)
	}
	if !fromFile.within(fromDir) || fromDir.within(fromFile) {
		t.Error("a file is within its directory, not the other way round")
	}
	// Each of the three ways is enough.
	id := func(n uint64) []inode.ID { return []inode.ID{{Dev: 1, Ino: n}} }
	dirOf := Identity{path: "/a", ids: id(1), at: location{inode.ID{Dev: 8, Ino: 1}, "/x"}}
	for name, c := range map[string]struct {
		Identity
		want bool
	}{
		"path":              {Identity{path: "/a/b", ids: id(2)}, true},
		"a longer name":     {Identity{path: "/ab", ids: id(2), at: location{inode.ID{Dev: 8, Ino: 1}, "/xy"}}, false},
		"inode":             {Identity{path: "/c", ids: append(id(2), id(1)...)}, true},
		"place":             {Identity{path: "/c", ids: id(2), at: location{inode.ID{Dev: 8, Ino: 1}, "/x/y"}}, true},
		"place elsewhere":   {Identity{path: "/c", ids: id(2), at: location{inode.ID{Dev: 8, Ino: 2}, "/x/y"}}, false},
		"nothing":           {Identity{path: "/c", ids: id(2)}, false},
		"nowhere is no way": {Identity{path: "/c", ids: id(2), at: location{inode.ID{Dev: 8, Ino: 1}, ""}}, false},
	} {
		if c.within(dirOf) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestAllowBinds(t *testing.T) {
	dir := inodetest.Tree(t, "data/set/1", "database/1", "docs/1", "one-file")
	at := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	inodetest.Try(t, os.Symlink("data", dir+"/prefix"), os.Symlink("../docs", dir+"/data/out"), os.Symlink("data/set", dir+"/in"))
	mine := Allowed{File: "mine.yaml", Prefixes: at("data")}
	for name, c := range map[string]struct {
		path    string
		allowed []Allowed
		want    []string
	}{
		"no restriction":         {"docs", nil, nil},
		"the prefix":             {"data", []Allowed{mine}, nil},
		"below the prefix":       {"data/set/1", []Allowed{mine}, nil},
		"into it by a link":      {"in", []Allowed{mine}, nil},
		"out of it by a link":    {"data/out", []Allowed{mine}, []string{"mine.yaml", "lies outside", dir + "/docs", dir + "/data"}},
		"a longer name":          {"database", []Allowed{mine}, []string{"mine.yaml"}},
		"above":                  {"", []Allowed{mine}, []string{"mine.yaml"}},
		"a prefix that is link":  {"data/set", []Allowed{{"f", at("prefix")}}, nil},
		"a prefix that is none":  {"data", []Allowed{{"f", at("none", "data/none")}}, []string{"lies outside"}},
		"a prefix that is file":  {"one-file", []Allowed{{"f", at("one-file")}}, nil},
		"several prefixes":       {"docs", []Allowed{{"f", at("data", "docs")}}, nil},
		"the root directory":     {"docs", []Allowed{{"f", []string{"/"}}}, nil},
		"an empty list":          {"data", []Allowed{{"f", nil}}, []string{`"f"`, "allows nothing"}},
		"two, both allow":        {"data", []Allowed{mine, {"operator.yaml", at("")}}, nil},
		"two, the other forbids": {"data", []Allowed{mine, {"operator.yaml", at("docs")}}, []string{"operator.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			inodetest.ExpectRefusal(t, keepOut(t, filepath.Join(dir, c.path), nil, c.allowed...), c.want...)
		})
	}
}

// paths are those of the sites with the property.
func paths(sites []site, wanted func(site) bool) (list []string) {
	for _, s := range sites {
		if wanted(s) {
			list = append(list, s.path)
		}
	}
	return list
}

func TestSites(t *testing.T) {
	sites := Host{
		Private: []string{"/the/root", "/else/catalog.db"}, Tmp: "/the/tmp", DatabaseHosts: []string{"db.example", "/db/sockets"}, UID: 1234,
		Getenv: func(name string) string { return map[string]string{"PGHOST": "/pg,localhost,/pg2"}[name] },
	}.sites()
	if got, want := paths(sites, func(s site) bool { return s.what == ofScidex && s.whole }), []string{"/the/root", "/else/catalog.db"}; !slices.Equal(got, want) {
		t.Errorf("ours: %q, want %q", got, want)
	}
	for _, want := range []string{"/the/tmp", "/run/docker.sock", "/run/containerd", "/run/podman", "/run/dbus", "/run/systemd", "/run/user/1234"} {
		if !slices.Contains(paths(sites, func(s site) bool { return !s.whole }), want) {
			t.Errorf("%s is not among them", want)
		}
	}
	database := []string{"/run/postgresql", "/var/run/postgresql", "/pg", "/pg2", "/db/sockets"}
	if testhole.Open {
		database = nil
	}
	if got := paths(sites, func(s site) bool { return s.what == ofPostgres && s.whole }); !slices.Equal(got, database) {
		t.Errorf("PostgreSQL's: %q, want %q", got, database)
	}
	if got := slices.Contains(paths(sites, func(s site) bool { return s.what == ofPostgres && !s.whole }), "/tmp"); got == testhole.Open {
		t.Errorf("/tmp among them: %v", got)
	}
}

func TestOwnSockets(t *testing.T) {
	env := map[string]string{
		"SSH_AUTH_SOCK": "/ssh/agent.1", "NOTIFY_SOCKET": "@abstract", "XDG_RUNTIME_DIR": "/xdg",
		"DOCKER_HOST": "unix:///docker.sock", "CONTAINER_HOST": "tcp://host:1", "GPG_AGENT_INFO": "/gpg/S.agent:12:1",
		"DBUS_SESSION_BUS_ADDRESS": "unix:abstract=/tmp/x,guid=1;unix:path=/bus%2dses/sock,guid=2;tcp:host=x",
		"DBUS_SYSTEM_BUS_ADDRESS":  "unix:guid=1,path=/sys/bus", "WAYLAND_DISPLAY": "wayland-0",
	}
	lookUp := func(name string) string { return env[name] }
	all := func(site) bool { return true }
	want := []string{"/ssh/agent.1", "/xdg", "/docker.sock", "/bus-ses/sock", "/sys/bus", "/gpg/S.agent", "/xdg/wayland-0"}
	if got := paths(ownSockets(lookUp), all); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	env = map[string]string{"WAYLAND_DISPLAY": "/wl/1", "NOTIFY_SOCKET": "/notify", "SSH_AUTH_SOCK": "relative", "GPG_AGENT_INFO": ":1:1"}
	if got, want := paths(ownSockets(lookUp), all), []string{"/notify", "/wl/1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	env = map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DBUS_SESSION_BUS_ADDRESS": "unix:path=%zz;;unix:;="}
	if got := paths(ownSockets(lookUp), all); len(got) > 0 {
		t.Errorf("got %q of nothing", got)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
