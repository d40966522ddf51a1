package rootfs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unpacked is a root filesystem with something of its own wherever a run has something of its own.
var unpacked = map[string]string{
	"bin/sh": "program", "lib": "->usr/lib", "usr/lib/x": "", "init": "small", "big": strings.Repeat("x", smallFile+1),
	"etc/passwd": "theirs", "etc/hosts": "->/etc/passwd", "etc/conf.d/x": "", "etc/os-release": "NAME=image", "etc/localtime": "theirs", "etc/mtab": "->/proc/mounts",
	"data/x": "", "proc": "->/etc", "work": "a file", "home/alice/x": "", "var/tmp/x": "", "var/lib/x": "", "opt": "->usr", "srv/d/f": "",
}

// merged is what an overlay of the three layers shows: for each name the first layer that has it; directories as
// far down as all layers have them (kernel's overlayfs.rst, "Multiple lower layers").
func merged(t *testing.T, dir string, layers []string) map[string]string {
	t.Helper()
	shown := map[string]string{}
	if len(layers) == 0 {
		return shown
	}
	names := map[string][]string{}
	for _, layer := range layers {
		entries, err := os.ReadDir(filepath.Join(layer, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names[e.Name()] = append(names[e.Name()], layer)
		}
	}
	for name, of := range names {
		p := filepath.Join(dir, name)
		info, err := os.Lstat(filepath.Join(of[0], p))
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() {
			shown[p] = describe(t, filepath.Join(of[0], p))
			continue
		}
		shown[p] = "directory"
		var below []string
		for _, layer := range of {
			if info, err := os.Lstat(filepath.Join(layer, p)); err != nil || !info.IsDir() {
				break
			}
			below = append(below, layer)
		}
		maps.Copy(shown, merged(t, p, below))
	}
	return shown
}

func describe(t *testing.T, p string) string {
	t.Helper()
	if target, err := os.Readlink(p); err == nil {
		return "-> " + target
	}
	data, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOwnGitconfig: an image's own gitconfig, or whatever has that name, is not hidden.
func TestOwnGitconfig(t *testing.T) {
	for _, own := range []string{"theirs", "->/etc/passwd"} {
		tree, err := Directory(fixture(t, map[string]string{"etc/gitconfig": own}), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.Run) > 0 {
			t.Errorf("%s is hidden", own)
		}
	}
}

// TestDirectory: the layers show the run's own files together with the unpacked ones; and so does a tree after Spread.
func TestDirectory(t *testing.T) {
	base := fixture(t, unpacked)
	tree, err := Directory(base, 1000)
	if err != nil {
		t.Fatal(err)
	}
	made, veil, flat := t.TempDir(), t.TempDir(), t.TempDir()
	spread, err := tree.Spread()
	if err != nil {
		t.Fatal(err)
	}
	for dir, make := range map[string]func(string) error{made: tree.Populate, veil: tree.Veil, flat: spread.Populate} {
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
	}
	checkModes(t, made)
	shown := merged(t, "/", []string{made, veil, base})
	for p, want := range map[string]string{
		"/bin/sh": "program", "/lib": "-> usr/lib", "/usr/lib/x": "", "/init": "small", "/opt": "-> usr", "/srv/d/f": "", "/var/lib/x": "",
		"/etc/os-release": "NAME=image", "/etc/conf.d/x": "", "/etc/mtab": "-> /proc/mounts", "/etc/passwd": passwd(1000), "/etc/localtime": "-> " + utc,
		"/etc/gitconfig": string(gitConfig().Data), "/var/tmp": "-> /tmp", "/proc": "directory", "/work": "directory", "/home/analysis": "directory",
	} {
		if got, ok := shown[p]; !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", p, got, ok, want)
		}
	}
	for p := range shown {
		for _, own := range ownDirs {
			if strings.HasPrefix(p, own+"/") && p != "/home/analysis" {
				t.Errorf("%s shows", p)
			}
		}
	}
	for _, b := range spread.Binds { // what a runtime would mount
		if b.IsDir {
			maps.Copy(shown, map[string]string{b.Destination: "directory"})
			err = os.CopyFS(flat+b.Destination, os.DirFS(b.Source))
		} else {
			var data []byte
			if data, err = os.ReadFile(b.Source); err == nil {
				err = os.Chmod(flat+b.Destination, 0o600)
				if err == nil {
					err = os.WriteFile(flat+b.Destination, data, 0o600)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := merged(t, "/", []string{flat}); !maps.Equal(got, shown) {
		t.Errorf("spread it shows\n%q\nwant\n%q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(shown)))
	}
}

func TestDirectoryRefuses(t *testing.T) {
	dir := fixture(t, map[string]string{"file": "x", "link": "->file", "dir/": "", "loop": "->dir"})
	for name, word := range map[string]string{"missing": "no such file", "file": "regular file", "link": "symbolic link", "loop": "symbolic link"} {
		if _, err := Directory(filepath.Join(dir, name), 1000); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckMountPoint: what is mounted hides no link of the root filesystem, and nothing of another kind.
func TestCheckMountPoint(t *testing.T) {
	tree, err := Directory(fixture(t, unpacked), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		destination string
		isDir       bool
		want        string // "" for success
	}{
		{"/inputs/x", false, ""},
		{"/data", true, ""},
		{"/work/x", true, ""},
		{"/srv", true, ""},
		{"/srv/d", true, ""},
		{"/srv/new/er", false, ""},
		{"/srv/d/f", false, ""},
		{"/models", true, ""},
		{"/srv/d", false, "a directory at /srv/d"},
		{"/srv/d/f", true, "a regular file at /srv/d/f"},
		{"/srv/d/f/x", true, "a regular file at /srv/d/f"},
		{"/opt", true, "a symbolic link at /opt"},
		{"/opt/x", false, "a symbolic link at /opt"},
		{"/a/../x", false, "absolute, clean path"},
	} {
		err := tree.CheckMountPoint(c.destination, c.isDir)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.destination, err, c.want)
		}
	}
	host, err := Host(fixture(t, debian), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := host.CheckMountPoint("/bin/x", true); err != nil {
		t.Errorf("of the host's: %v", err) // Populate's to refuse
	}
}

// TestCheckFresh: the root filesystem has nothing at the destination, and directories made for it open nothing to all.
func TestCheckFresh(t *testing.T) {
	dir := fixture(t, unpacked)
	if err := os.Mkdir(filepath.Join(dir, "var/lib/private"), 0o700); err != nil {
		t.Fatal(err)
	}
	tree, err := Directory(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for destination, want := range map[string]string{
		"/var/lib/cwl/stg1/file": "", "/var/spool/cwl": "", "/job": "", "/srv/d/new": "",
		"/srv": "a directory there", "/srv/d": "a directory there", "/srv/d/f": "a regular file at /srv/d/f", "/srv/d/f/x": "a regular file at /srv/d/f",
		"/opt": "a symbolic link at /opt", "/opt/x": "a symbolic link at /opt", "/var/lib/x": "a regular file at /var/lib/x",
		"/var/lib/private/x": "a directory at /var/lib/private that not all may search", "/a/../x": "absolute, clean path",
	} {
		if err := tree.CheckFresh(destination); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", destination, err, want)
		}
	}
}

// TestSpreadLeavesMountPoints: a runtime cannot make them in a read-only bind.
func TestSpreadLeavesMountPoints(t *testing.T) {
	tree, err := Directory(fixture(t, unpacked), 1000)
	if err != nil {
		t.Fatal(err)
	}
	points := []string{"/srv/d/new/x", "/var/lib/cwl/x"}
	spread, err := tree.Spread(points...)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range spread.Binds {
		if slices.ContainsFunc(points, func(p string) bool { return strings.HasPrefix(p, b.Destination+"/") }) {
			t.Errorf("%s is bound", b.Destination)
		}
	}
	for _, shown := range []string{"/srv/d/f", "/var/lib/x"} {
		if !slices.ContainsFunc(spread.Files, func(f File) bool { return f.Path == shown }) {
			t.Errorf("%s is not shown", shown)
		}
	}
}

// TestSpreadFollowsNothing: a link in a root filesystem is copied as a link, wherever it leads.
func TestSpreadFollowsNothing(t *testing.T) {
	secret := fixture(t, map[string]string{"etc/passwd": "CANARY", "tmp/CANARY": ""})
	tree, err := Directory(fixture(t, map[string]string{
		"etc": "->" + secret + "/etc", "usr": "->" + secret, "var": "->../../../../" + secret, "x": "->" + secret + "/etc/passwd", "d/l": "->" + secret,
	}), 1000)
	if err != nil {
		t.Fatal(err)
	}
	spread, err := tree.Spread()
	if err != nil {
		t.Fatal(err)
	}
	flat := t.TempDir()
	if err := spread.Populate(flat); err != nil {
		t.Fatal(err)
	}
	for _, b := range spread.Binds {
		if b.Destination != "/d" {
			t.Errorf("bind of %s", b.Source)
		}
	}
	err = filepath.WalkDir(flat, func(p string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == "CANARY" || d.Type().IsRegular() && describe(t, p) == "CANARY") {
			t.Errorf("%s shows", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSpreadBindsLongFile: a file that is longer than its size, such as a growing one, is bound instead of copied in part.
func TestSpreadBindsLongFile(t *testing.T) {
	const long = "/proc/kallsyms" // its size is 0
	if data, err := os.ReadFile(long); err != nil || len(data) <= smallFile {
		t.Skipf("%s has %d bytes: %v", long, len(data), err)
	}
	base, err := os.OpenRoot("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	s := spreading{from: Tree{Base: "/proc"}, base: base}
	if err := s.file("kallsyms", "/long"); err != nil {
		t.Fatal(err)
	}
	if len(s.to.Files) != 0 || !slices.Equal(s.to.Binds, []Bind{{Source: long, Destination: "/long"}}) {
		t.Errorf("%d files and %v", len(s.to.Files), s.to.Binds)
	}
}
