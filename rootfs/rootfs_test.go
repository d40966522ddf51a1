package rootfs

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// fixture makes a host's "/": names that end with '/' are directories, values that begin with "->" are
// links, others are files.
func fixture(t *testing.T, entries map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		p := filepath.Join(root, name)
		dir := filepath.Dir(p)
		if strings.HasSuffix(name, "/") {
			dir = p
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		value := entries[name]
		if target, ok := strings.CutPrefix(value, "->"); ok {
			err = os.Symlink(target, p)
		} else if dir != p {
			err = os.WriteFile(p, []byte(value), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var debian = map[string]string{
	"usr/bin/": "", "usr/sbin/": "", "usr/lib/": "", "usr/lib64/": "", "usr/share/zoneinfo/Etc/UTC": "TZif",
	"bin": "->usr/bin", "sbin": "->usr/sbin", "lib": "->usr/lib", "lib64": "->/usr/lib64",
	"etc/ld.so.cache": "cache", "etc/alternatives/": "", "etc/ssl/certs/": "", "etc/ssl/private/key": "secret", "etc/fonts/": "",
	"etc/python3/": "", "etc/python3.11/": "", "etc/R/": "", "etc/java-17-openjdk/": "", "etc/ocamlfind.conf": "", "etc/maven/": "secret",
	"etc/texmf/": "", "var/lib/texmf/": "", "var/lib/postgresql/": "secret", "etc/ImageMagick-6/policy.xml": "", "etc/matplotlibrc": "backend: agg", "etc/python3.conf": "no directory",
	"etc/passwd": "alice:x:1001:1001::/home/alice:/bin/sh", "etc/shadow": "alice:secret", "etc/hosts": "10.0.0.5 postgres",
	"etc/resolv.conf": "nameserver 10.0.0.1", "etc/machine-id": "0123", "home/alice/": "", "root/": "", "var/lib/": "", "srv/": "",
}

var unmerged = map[string]string{
	"usr/bin/": "", "usr/lib/": "", "bin/sh": "", "sbin/": "", "lib/": "", "lib64/": "", "etc/": "",
}

var fedora = map[string]string{
	"usr/bin/": "", "usr/lib/": "", "usr/lib64/": "", "usr/sbin": "->bin",
	"bin": "->usr/bin", "sbin": "->usr/sbin", "lib": "->usr/lib", "lib64": "->usr/lib64",
	"etc/ssl/certs": "->../pki/tls/certs", "etc/pki/tls/certs/ca-bundle.crt": "->/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": "certificates", "etc/pki/ca-trust/source/anchors/own.pem": "secret",
	"etc/pki/tls/cert.pem": "->certs/ca-bundle.crt", "etc/pki/tls/private/key": "secret",
	"etc/crypto-policies/back-ends/openssl.config": "policy", "etc/crypto-policies/local.d/own": "secret",
	"etc/ld.so.cache": "cache", "home/alice/key": "secret", "root/key": "secret", "var/lib/key": "secret", "run/key": "secret", "srv/key": "secret",
}

var arch = map[string]string{
	"usr/bin/": "", "usr/lib/": "", "usr/lib64": "->lib", "usr/sbin": "->bin",
	"bin": "->usr/bin", "sbin": "->usr/bin", "lib": "->usr/lib", "lib64": "->usr/lib",
	"etc/ssl/certs/ca-certificates.crt": "->../../ca-certificates/extracted/tls-ca-bundle.pem", "etc/ssl/private/key": "secret",
	"etc/ssl/cert.pem": "->../ca-certificates/extracted/tls-ca-bundle.pem",
	"etc/ca-certificates/extracted/tls-ca-bundle.pem": "certificates", "etc/ca-certificates/trust-source/own": "secret",
	"etc/ld.so.cache": "cache", "etc/shadow": "secret",
}

var suse = map[string]string{
	"usr/bin/": "", "usr/lib64/": "", "bin": "->usr/bin", "lib64": "->usr/lib64",
	"etc/ssl/certs": "->../../var/lib/ca-certificates/pem", "var/lib/ca-certificates/pem/a.pem": "certificates", "var/lib/key": "secret",
	"etc/ssl/private/key": "secret",
}

// careless is a host whose administrator made links to files that must not be shown.
var careless = map[string]string{
	"usr/bin/": "", "usr/lib/": "",
	"etc/ssl/certs": "->.", "etc/ssl/private/key": "secret", "etc/fonts": "->../home/alice", "etc/R": "->../root/R", "etc/python3": "->.",
	"etc/alternatives": "->../var/lib/alternatives", "var/lib/alternatives/": "", "var/lib/texmf": "->../../home/alice", "etc/texmf/private/": "", "home/alice/key": "secret", "root/R/key": "secret", "etc/shadow": "secret",
}

func TestHost(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries map[string]string
		binds   []string // destination=source below the fixture
		links   []string
		files   []string
	}{
		{
			"debian", debian,
			[]string{
				"/usr=usr", "/etc/alternatives=etc/alternatives", "/etc/ssl/certs=etc/ssl/certs", "/etc/fonts=etc/fonts", "/etc/R=etc/R",
				"/etc/python3=etc/python3", "/etc/python3.11=etc/python3.11", "/etc/java-17-openjdk=etc/java-17-openjdk",
				"/etc/texmf=etc/texmf", "/var/lib/texmf=var/lib/texmf", "/etc/ImageMagick-6=etc/ImageMagick-6",
			},
			[]string{"/var/tmp=/tmp", "/bin=usr/bin", "/sbin=usr/sbin", "/lib=usr/lib", "/lib64=/usr/lib64", "/etc/localtime=/usr/share/zoneinfo/Etc/UTC"},
			[]string{"/etc/ld.so.cache", "/etc/matplotlibrc", "/etc/ocamlfind.conf"},
		},
		{
			"unmerged", unmerged,
			[]string{"/usr=usr", "/bin=bin", "/sbin=sbin", "/lib=lib", "/lib64=lib64"},
			[]string{"/var/tmp=/tmp"},
			nil,
		},
		{
			"fedora", fedora,
			[]string{
				"/usr=usr", "/etc/ssl/certs=etc/pki/tls/certs", "/etc/pki/tls/certs=etc/pki/tls/certs",
				"/etc/pki/ca-trust/extracted=etc/pki/ca-trust/extracted", "/etc/crypto-policies/back-ends=etc/crypto-policies/back-ends",
			},
			[]string{"/var/tmp=/tmp", "/bin=usr/bin", "/sbin=usr/sbin", "/lib=usr/lib", "/lib64=usr/lib64", "/etc/pki/tls/cert.pem=certs/ca-bundle.crt"},
			[]string{"/etc/ld.so.cache"},
		},
		{
			"arch", arch,
			[]string{"/usr=usr", "/etc/ssl/certs=etc/ssl/certs", "/etc/ca-certificates/extracted=etc/ca-certificates/extracted"},
			[]string{
				"/var/tmp=/tmp", "/bin=usr/bin", "/sbin=usr/bin", "/lib=usr/lib", "/lib64=usr/lib",
				"/etc/ssl/cert.pem=../ca-certificates/extracted/tls-ca-bundle.pem",
			},
			[]string{"/etc/ld.so.cache"},
		},
		{
			"suse", suse,
			[]string{"/usr=usr", "/etc/ssl/certs=var/lib/ca-certificates/pem"},
			[]string{"/var/tmp=/tmp", "/bin=usr/bin", "/lib64=usr/lib64"},
			nil,
		},
		{"careless", careless, []string{"/usr=usr"}, []string{"/var/tmp=/tmp"}, nil},
		{
			"links elsewhere",
			map[string]string{"usr/bin/": "", "usr/lib/": "", "bin": "->nix/bin", "nix/bin/": "", "lib": "->usr/../nix/gone", "sbin": "->usr"},
			[]string{"/usr=usr", "/bin=nix/bin", "/sbin=usr"},
			[]string{"/var/tmp=/tmp"},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fixture(t, c.entries)
			tree, err := Host(root, 1000)
			if err != nil {
				t.Fatal(err)
			}
			var binds, links, files []string
			for _, b := range tree.Binds {
				if !b.IsDir {
					t.Errorf("%s is no directory", b.Source)
				}
				binds = append(binds, b.Destination+"="+strings.TrimPrefix(b.Source, root+"/"))
			}
			for _, l := range tree.Links {
				links = append(links, l.Path+"="+l.Target)
			}
			for _, f := range tree.Files[len(accountFiles(1000)):] {
				files = append(files, f.Path)
			}
			if !slices.Equal(binds, c.binds) {
				t.Errorf("binds\n%q\nwant\n%q", binds, c.binds)
			}
			if !slices.Equal(links, c.links) {
				t.Errorf("links\n%q\nwant\n%q", links, c.links)
			}
			if !slices.Equal(files, c.files) {
				t.Errorf("files %q; want %q", files, c.files)
			}
		})
	}
}

func TestHostRefuses(t *testing.T) {
	for name, entries := range map[string]map[string]string{
		"no usr":         {"bin/": ""},
		"usr is a file":  {"usr": "x"},
		"guix":           {"gnu/store/x": "", "bin/sh": "->/gnu/store/x", "usr/bin/": ""},
		"cache is a dir": {"usr/bin/": "", "usr/lib/": "", "etc/ld.so.cache/x": ""},
		"huge cache":     {"usr/bin/": "", "usr/lib/": "", "etc/ld.so.cache": strings.Repeat("x", maxCopy+1)},
	} {
		if _, err := Host(fixture(t, entries), 1000); err == nil || !strings.HasPrefix(err.Error(), "root filesystem of the host: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHostWithoutUsr: if programs are not in /usr, one sentence says what can be used instead.
func TestHostWithoutUsr(t *testing.T) {
	root := fixture(t, map[string]string{"nix/store/x": "", "bin/sh": "->/nix/store/x", "usr/bin/env": "->/nix/store/x", "lib64/": ""})
	_, err := Host(root, 1000)
	want := "root filesystem of the host: this host does not keep its programs and libraries in " + root + "/usr but in " + root +
		"/nix/store; give another root filesystem with --rootfs"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHostShows(t *testing.T) {
	for path, want := range map[string]bool{
		"/usr": true, "/usr/local/env": true, "/bin": true, "/bin/python3": true, "/lib64/x": true, "/etc/alternatives/python3": true,
		"/": false, "/opt/x": false, "/usr2/x": false, "/etc": false, "/etc/R": false, "/home/me/usr/bin": false, "/binary": false,
	} {
		if got := HostShows(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestPopulate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077)) // it must have no part in the modes
	for name, entries := range map[string]map[string]string{
		"debian": debian, "unmerged": unmerged, "fedora": fedora, "arch": arch, "suse": suse, "careless": careless,
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := Host(fixture(t, entries), 1000)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := tree.Populate(dir); err != nil {
				t.Fatal(err)
			}
			checkModes(t, dir)
			for _, b := range tree.Binds {
				if info, err := os.Lstat(dir + b.Destination); err != nil || !info.IsDir() {
					t.Errorf("mount point %s: %v, %v", b.Destination, info, err)
				}
			}
			for _, p := range []string{
				"proc", "dev", "sys", "tmp", "work", "data", "docs", "analysis", "inputs", "home/analysis", "usr", "run", "var",
			} {
				if names, err := os.ReadDir(filepath.Join(dir, p)); err != nil || len(names) > 0 && p != "var" {
					t.Errorf("%s: %v, %v; want an empty directory", p, names, err)
				}
			}
			if target, err := os.Readlink(dir + "/var/tmp"); err != nil || target != "/tmp" {
				t.Errorf("/var/tmp -> %q, %v", target, err)
			}
		})
	}
}

// checkModes checks that all may read every entry and none may write it, and that none is the host's own.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && info.Mode().Perm() != 0o755, info.Mode().IsRegular() && info.Mode().Perm() != 0o444:
			t.Errorf("%s has mode %v", p, info.Mode())
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			for _, word := range []string{"alice", "secret", "10.0.0", "0123"} {
				if strings.Contains(string(data), word) {
					t.Errorf("%s shows %q of the host", p, word)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAccounts(t *testing.T) {
	for uid, want := range map[uint32]string{
		1000: "analysis:x:1000:1000:analysis:/home/analysis:/bin/sh\nroot:x:0:0:",
		0:    "analysis:x:0:0:analysis:/home/analysis:/bin/sh\nroot:x:0:0:", // the first line with uid 0 is the answer
	} {
		tree, err := Host(fixture(t, unmerged), uid)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range tree.Files {
			files[f.Path] = string(f.Data)
		}
		if !strings.HasPrefix(files["/etc/passwd"], want) || strings.Count(files["/etc/passwd"], "\n") != 3 {
			t.Errorf("uid %d: passwd %q", uid, files["/etc/passwd"])
		}
		if !strings.HasPrefix(files["/etc/group"], "analysis:x:") || !strings.Contains(files["/etc/group"], "nogroup:x:65534:") {
			t.Errorf("uid %d: group %q", uid, files["/etc/group"])
		}
		if !strings.Contains(files["/etc/hosts"], "127.0.0.1 localhost scidex\n") || files["/etc/hostname"] != "scidex\n" || files["/etc/resolv.conf"] != "" {
			t.Errorf("hosts %q, hostname %q", files["/etc/hosts"], files["/etc/hostname"])
		}
	}
}

func TestMountPoint(t *testing.T) {
	tree, err := Host(fixture(t, debian), 1000)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := tree.Populate(dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		destination string
		isDir       bool
		want        string // "" for success
	}{
		{"/data", true, ""},
		{"/data", true, ""}, // a second time
		{"/models/deep/er", true, ""},
		{"/inputs/table.csv", false, ""},
		{"/inputs/table.csv", false, ""},
		{"/analysis/a.py", false, ""},
		{"/etc/passwd", false, ""},
		{"/new/file", false, ""},
		{"/data", false, "/data is a directory and no regular file"},
		{"/etc/passwd", true, "/etc/passwd is a regular file and no directory"},
		{"/etc/passwd/x", true, "/etc/passwd is a regular file and no directory"},
		{"/etc/passwd/x", false, "/etc/passwd is a regular file and no directory"},
		{"/bin", true, "/bin is a symbolic link and no directory"},
		{"/bin/x", true, "/bin is a symbolic link and no directory"},
		{"/bin/x", false, "/bin is a symbolic link and no directory"},
		{"/var/tmp/x", true, "/var/tmp is a symbolic link and no directory"},
		{"/etc/localtime", false, "/etc/localtime is a symbolic link and no regular file"},
		{"/", true, "absolute, clean path below /"},
		{"", true, "absolute, clean path"},
		{"data", true, "absolute, clean path"},
		{"/../x", true, "absolute, clean path"},
		{"/inputs/../../x", false, "absolute, clean path"},
		{"/inputs/./x", false, "absolute, clean path"},
		{"//x", true, "absolute, clean path"},
		{"/x/", true, "absolute, clean path"},
	} {
		err := MountPoint(dir, c.destination, c.isDir)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; want %q", c.destination, err, c.want)
			}
			continue
		}
		info, statErr := os.Lstat(dir + c.destination)
		if err != nil || statErr != nil || info.IsDir() != c.isDir {
			t.Errorf("%s: %v, %v", c.destination, err, statErr)
		}
	}
	checkModes(t, dir)
	if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made beside the root filesystem: %v", err)
	}
}

func TestPopulateRefuses(t *testing.T) {
	for name, tree := range map[string]Tree{
		"dir above":   {Dirs: []Dir{{"/../x", dirMode}}},
		"file above":  {Files: []File{{Path: "/a/../../x"}}},
		"link above":  {Links: []Link{{"/../x", "y"}}},
		"file twice":  {Files: []File{{Path: "/a"}, {Path: "/a"}}},
		"below file":  {Files: []File{{Path: "/a"}, {Path: "/a/b"}}},
		"link taken":  {Dirs: []Dir{{"/a", dirMode}}, Links: []Link{{"/a", "b"}}},
		"bind is dir": {Dirs: []Dir{{"/a", dirMode}}, Binds: []Bind{{Source: "/x", Destination: "/a"}}},
	} {
		if err := tree.Populate(t.TempDir()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := (Tree{}).Populate(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}
