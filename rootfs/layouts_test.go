package rootfs

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// busybox is Debian's busybox-static: the one program of the trees, which needs no library of theirs.
const busybox = "/bin/busybox"

// inhabited adds to a layout what runs in it.
func inhabited(t *testing.T, layout map[string]string, shell string) string {
	t.Helper()
	root := fixture(t, layout)
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatalf("%v; run scripts/setup test", err)
	}
	for _, name := range []string{"usr/bin/busybox", shell} {
		p := filepath.Join(root, name)
		if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestHostRuns enters the root filesystems of unpacked hosts and walks through all that is visible there: no
// more than a short list.
func TestHostRuns(t *testing.T) {
	made := []string{
		"analysis", "bin/sh", "data", "dev", "docs", "etc/gitconfig", "etc/group", "etc/hostname", "etc/hosts", "etc/nsswitch.conf", "etc/passwd",
		"etc/resolv.conf", "etc/scidex-matplotlibrc", "etc/timezone", "home/analysis", "inputs", "proc", "run", "sys", "tmp", "usr/bin/busybox", "var/tmp", "work",
	}
	for name, c := range map[string]struct {
		layout map[string]string
		more   []string // visible in addition to made, unless it is a directory with something in it
		reads  []string // files that can be read through their links
	}{
		"debian": {debian, []string{
			"bin", "sbin", "lib", "lib64", "usr/sbin", "usr/lib", "usr/lib64", "usr/bin/sh", "usr/share/zoneinfo/Etc/UTC", "etc/ld.so.cache",
			"etc/localtime", "etc/alternatives", "etc/ssl/certs", "etc/fonts", "etc/python3", "etc/python3.11", "etc/R", "etc/matplotlibrc",
			"etc/ImageMagick-6/policy.xml", "etc/java-17-openjdk", "etc/ocamlfind.conf", "etc/texmf", "var/lib/texmf",
		}, []string{"/etc/localtime", "/etc/matplotlibrc"}},
		"unmerged": {unmerged, []string{"sbin", "lib", "lib64", "usr/lib"}, nil},
		"fedora": {fedora, []string{
			"bin", "sbin", "lib", "lib64", "usr/sbin", "usr/lib", "usr/lib64", "usr/bin/sh", "etc/ld.so.cache", "etc/ssl/certs/ca-bundle.crt",
			"etc/pki/tls/certs/ca-bundle.crt", "etc/pki/tls/cert.pem", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
			"etc/crypto-policies/back-ends/openssl.config",
		}, []string{"/etc/ssl/certs/ca-bundle.crt", "/etc/pki/tls/cert.pem"}},
		"arch": {arch, []string{
			"bin", "sbin", "lib", "lib64", "usr/sbin", "usr/lib", "usr/lib64", "usr/bin/sh", "etc/ld.so.cache", "etc/ssl/certs/ca-certificates.crt",
			"etc/ssl/cert.pem", "etc/ca-certificates/extracted/tls-ca-bundle.pem",
		}, []string{"/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt"}},
		"suse": {suse, []string{"bin", "lib64", "usr/bin/sh", "usr/lib64", "etc/ssl/certs/a.pem"}, []string{"/etc/ssl/certs/a.pem"}},
	} {
		t.Run(name, func(t *testing.T) {
			shell := "usr/bin/sh"
			want := slices.Concat(made, c.more)
			if name == "unmerged" {
				shell = "bin/sh"
			} else {
				want = slices.DeleteFunc(want, func(path string) bool { return path == "bin/sh" })
			}
			visible := enter(t, inhabited(t, c.layout, shell), `busybox find / | while read -r f; do
				if [ -h "$f" ] || [ ! -d "$f" ] || [ -z "$(busybox ls -A "$f")" ]; then echo "$f"; fi; done`)
			got := strings.Fields(strings.ReplaceAll("\n"+visible, "\n/", "\n"))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("visible are\n%q\nwant\n%q", got, want)
			}
			for _, file := range c.reads {
				if said := enter(t, inhabited(t, c.layout, shell), "busybox cat "+file); said == "" || strings.Contains(said, "secret") {
					t.Errorf("%s reads %q", file, said)
				}
			}
		})
	}
}

// room is what the child that enters a root filesystem needs to know.
type room struct {
	Dir    string
	Tree   Tree
	Script string
}

// enter runs a shell script in the root filesystem of the host whose "/" is root, and returns what it says.
func enter(t *testing.T, root, script string) string {
	t.Helper()
	dir := t.TempDir()
	tree, err := Host(root, 0)
	if err == nil {
		err = tree.Populate(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(room{dir, tree, script})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEntered$")
	cmd.Env = []string{entered + "=1"}
	cmd.Stdin = bytes.NewReader(order)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	return string(out)
}

// entered is the variable by which a child knows that it is one.
const entered = "SCIDEX_OCI_TEST_ENTERED"

// TestEntered is the child of enter: it binds, makes the tree its "/" and becomes the shell.
func TestEntered(t *testing.T) {
	if os.Getenv(entered) == "" {
		return // the parent, which has nothing to do here
	}
	raw, err := io.ReadAll(os.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	var r room
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Tree.Binds {
		if err := unix.Mount(b.Source, filepath.Join(r.Dir, b.Destination), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			t.Fatalf("bind %s: %v", b.Source, err)
		}
	}
	if err := unix.Chroot(r.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir("/"); err != nil {
		t.Fatal(err)
	}
	t.Fatal(unix.Exec("/bin/sh", []string{"sh", "-c", r.Script}, []string{"PATH=/usr/bin"}))
}

// TestHostsOwnSecrets: if secrets were shown, the walk of TestHostRuns would find them.
func TestHostsOwnSecrets(t *testing.T) {
	const secrets = "^(alice:)?secret$|^alice:x:|^10[.]0[.]0[.]5"
	unkempt := maps.Clone(careless)
	unkempt["bin"] = "->usr/bin"
	for name, layout := range map[string]map[string]string{"debian": debian, "fedora": fedora, "arch": arch, "suse": suse, "careless": unkempt} {
		root := inhabited(t, layout, "usr/bin/sh")
		outside, err := exec.Command(busybox, "grep", "-rlE", secrets, root).Output()
		if err != nil || len(outside) == 0 {
			t.Errorf("%s: outside there is no secret: %v", name, err)
		}
		if inside := enter(t, root, "busybox grep -rlE '"+secrets+"' / || busybox true"); inside != "" {
			t.Errorf("%s: inside there is %q", name, inside)
		}
	}
}
