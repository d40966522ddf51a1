package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const installer = "../../scripts/install"

// release is what the unpacked archive of a release has to install, of the program under test.
func (h *harness) release(dir string) string {
	h.t.Helper()
	for _, name := range []string{"scidex-oci", netProgram, supervisorProgram, "scidex-oci-docker"} {
		h.write(dir+"/bin/"+name, readFile(h.t, filepath.Join(filepath.Dir(theHost.bin), name)), 0o755)
	}
	return h.write(dir+"/install", readFile(h.t, installer), 0o755)
}

// below lists what is below a directory, directories with a slash.
func below(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && path != dir {
			name := strings.TrimPrefix(path, dir+"/")
			if entry.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// install runs an installer, which must end with the code and say the words.
func (h *harness) install(code int, script string, args []string, words ...string) {
	h.t.Helper()
	out := h.finish(h.command(script, args...))
	if out.code != code {
		h.t.Fatalf("install %q: exit code %d, want %d\n%s%s", args, out.code, code, out.stdout, out.stderr)
	}
	for _, word := range words {
		if !strings.Contains(out.stderr, word) {
			h.t.Errorf("install %q: no %q in %s", args, word, out.stderr)
		}
	}
}

// TestInstall installs from a clone and from a release, twice, and uninstalls exactly what was installed.
func TestInstall(t *testing.T) {
	absolute, err := filepath.Abs(installer)
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]func(h *harness) string{
		"a clone":   func(*harness) string { return absolute },
		"a release": func(h *harness) string { return h.release("release") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			install := script(h)
			prefix := h.path("prefix")
			h.write("prefix/share/man/man1/other.1", "somebody else's\n", 0o644)
			before := below(t, prefix)
			h.install(0, install, []string{"--prefix", prefix}, "installed scidex-oci", prefix)
			for _, file := range []string{
				"bin/scidex-oci", "bin/scidex-oci-net", "bin/scidex-oci-supervisor", "bin/scidex-oci-docker", "share/man/man1/scidex-oci-run.1", "share/bash-completion/completions/scidex-oci",
				"share/fish/vendor_completions.d/scidex-oci.fish", "share/zsh/site-functions/_scidex-oci",
			} {
				if _, err := os.Stat(filepath.Join(prefix, file)); err != nil {
					t.Error(err)
				}
			}
			if out := h.finish(h.command(filepath.Join(prefix, "bin/scidex-oci"), "--version")); out.code != 0 {
				t.Errorf("%+v", out)
			}
			if out := h.finish(h.command(filepath.Join(prefix, "bin/scidex-oci"), "image", "ls")); out.code != 0 {
				t.Errorf("%+v", out)
			}
			h.supervises(filepath.Join(prefix, "bin/scidex-oci"), filepath.Join(prefix, "bin", supervisorProgram))
			installed := below(t, prefix)
			h.install(0, install, []string{"--prefix=prefix"})
			if again := below(t, prefix); !slices.Equal(again, installed) {
				t.Errorf("the second time: %q, the first: %q", again, installed)
			}
			h.install(0, install, []string{"--prefix", prefix, "--uninstall"}, "removed")
			if after := below(t, prefix); !slices.Equal(after, before) {
				t.Errorf("left: %q, before: %q", after, before)
			}
			h.install(1, install, []string{"--uninstall", "--prefix", prefix}, "nothing was installed below "+prefix)
		})
	}
}

// TestInstallAtHome uses ~/.local for everyone but root.
func TestInstallAtHome(t *testing.T) {
	h := newHarness(t)
	if theHost.root {
		return // root's place is the host's own, /usr/local: not for a test
	}
	h.setenv("HOME", h.path("me"))
	h.install(0, h.release("release"), nil, h.path("me/.local/bin")+" is not in PATH: type export PATH=")
	if _, err := os.Stat(h.path("me/.local/bin/scidex-oci")); err != nil {
		t.Error(err)
	}
}

// TestInstallMakesItsPrefix removes the prefix too if it made it, and keeps it if it existed before.
func TestInstallMakesItsPrefix(t *testing.T) {
	h := newHarness(t)
	install, prefix := h.release("release"), h.path("new")
	h.install(0, install, []string{"--prefix", prefix})
	h.install(0, install, []string{"--prefix", prefix})
	h.install(0, install, []string{"--prefix", prefix, "--uninstall"})
	if _, err := os.Stat(prefix); !os.IsNotExist(err) {
		t.Errorf("%s: %v", prefix, err)
	}
	h.write("theirs/empty", "", 0o644)
	if err := os.Remove(h.path("theirs/empty")); err != nil {
		t.Fatal(err)
	}
	h.install(0, install, []string{"--prefix", h.path("theirs")})
	h.install(0, install, []string{"--prefix", h.path("theirs"), "--uninstall"})
	if _, err := os.Stat(h.path("theirs")); err != nil {
		t.Error(err)
	}
}

// TestInstallHelps prints the usage, and does nothing.
func TestInstallHelps(t *testing.T) {
	h := newHarness(t)
	h.setenv("HOME", h.path("me"))
	out := h.finish(h.command(h.release("release"), "--help"))
	if out.code != 0 || !strings.HasPrefix(out.stdout, "install [--prefix DIR] [--uninstall]: ") || strings.Contains(out.stdout, "set -eu") {
		t.Errorf("%+v", out)
	}
	if left := below(t, h.path("me")); len(left) > 0 {
		t.Errorf("installed: %q", left)
	}
}

// TestInstallUpdates removes files that a newer version lacks, and those of a killed installation.
func TestInstallUpdates(t *testing.T) {
	h := newHarness(t)
	install, prefix := h.release("release"), h.path("prefix")
	h.install(0, install, []string{"--prefix", prefix})
	old := h.write("prefix/share/man/man1/scidex-oci-old.1", "old\n", 0o644)
	record, err := os.ReadFile(h.path("prefix/share/scidex-oci/installed"))
	if err != nil {
		t.Fatal(err)
	}
	h.write("prefix/share/scidex-oci/installed", fmt.Sprintf("%s%x  share/man/man1/scidex-oci-old.1\n", record, sha256.Sum256([]byte("old\n"))), 0o644)
	h.install(0, install, []string{"--prefix", prefix})
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%s: %v", old, err)
	}
}

// TestInstallKeepsChanges neither replaces nor removes what somebody else has written.
func TestInstallKeepsChanges(t *testing.T) {
	h := newHarness(t)
	install, prefix := h.release("release"), h.path("prefix")
	theirs := h.write("prefix/bin/scidex-oci", "#!/bin/sh\n", 0o755)
	h.install(1, install, []string{"--prefix", prefix}, theirs+" is there and was not installed by this")
	if left := below(t, prefix); !slices.Equal(left, []string{"bin/", "bin/scidex-oci"}) {
		t.Errorf("left: %q", left)
	}
	if err := os.Remove(theirs); err != nil {
		t.Fatal(err)
	}
	h.install(0, install, []string{"--prefix", prefix})
	changed := h.write("prefix/share/man/man1/scidex-oci.1", "mine\n", 0o644)
	h.install(1, install, []string{"--prefix", prefix}, changed, "changed since")
	h.install(0, install, []string{"--prefix", prefix, "--uninstall"}, changed+" was changed since it was installed: it is left")
	if left := below(t, prefix); !slices.Equal(left, []string{"bin/", "share/", "share/man/", "share/man/man1/", "share/man/man1/scidex-oci.1"}) {
		t.Errorf("left: %q", left)
	}
}

// TestInstallForAnotherUser: root does not write, remove or execute files that another user can exchange.
func TestInstallForAnotherUser(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: an ordinary user has no rights to be misled with")
		return
	}
	h := newHarness(t)
	f := newForeign(t, h)
	if err := errors.Join(os.Symlink(f.path, h.path("to-theirs")), os.Mkdir(h.path("all"), 0o755), os.Chmod(h.path("all"), 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{f.path, f.path + "/new", f.path + "/out", h.path("to-theirs"), h.path("to-theirs/new"), h.path("all/new")} {
		for _, args := range [][]string{{"--prefix", prefix}, {"--prefix", prefix, "--uninstall"}} {
			h.install(1, h.release("release"), args, "root does not install below", "another user can write")
		}
		f.untouched(t)
	}
	if left := matches(f.path + "/*"); len(left) != 2 {
		t.Errorf("left: %q", left)
	}
}

// TestInstallRefuses installs nothing if it cannot install everything.
func TestInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		harm  func(h *harness)
		args  []string
		words []string
	}{
		"another architecture": {
			harm:  func(h *harness) { h.write("release/bin/scidex-oci", "\x7fELF", 0o755) },
			words: []string{"does not run on this host"},
		},
		"no supervisor": {
			harm:  func(h *harness) { _ = os.Remove(h.path("release/bin/" + supervisorProgram)) },
			words: []string{"release/bin/" + supervisorProgram + ": unpack the release again"},
		},
		"another net program": {
			harm:  func(h *harness) { h.write("release/bin/"+netProgram, "#!/bin/sh\n", 0o755) },
			words: []string{netProgram, "not built with this", "nothing is installed"},
		},
		"no release": {
			harm:  func(h *harness) { _ = os.RemoveAll(h.path("release/bin")) },
			words: []string{"unpack the release again", "scripts/build"},
		},
		"a word":    {args: []string{"please"}, words: []string{"unknown argument please"}},
		"no prefix": {args: []string{"--prefix"}, words: []string{"--prefix takes a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			install := h.release("release")
			if c.harm != nil {
				c.harm(h)
			}
			args := c.args
			if args == nil {
				args = []string{"--prefix", h.path("prefix")}
			}
			h.install(1, install, args, c.words...)
			if left := below(t, h.path("prefix")); len(left) > 0 {
				t.Errorf("installed: %q", left)
			}
		})
	}
}
