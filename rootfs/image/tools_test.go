package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tool runs a program that makes or reads images; scripts/setup test installs them.
func tool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// needs skips the test if the tools are not installed. Those of Debian are required where scripts/setup ran.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, name := range tools {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: scripts/setup test installs it", name)
		}
	}
}

// TestSkopeo imports every form that skopeo writes of one image, and lets it read the store.
func TestSkopeo(t *testing.T) {
	needs(t, "skopeo")
	dir := t.TempDir()
	from := write(t, oci(t, map[string]*made{"3": python(t)}))
	policy := filepath.Join(dir, "policy.json")
	must(t, os.WriteFile(policy, []byte(`{"default":[{"type":"insecureAcceptAnything"}]}`), 0o600))
	skopeo := func(args ...string) {
		tool(t, dir, append([]string{"skopeo", "--policy", policy, "copy", "-q"}, args...)...)
	}
	for _, form := range []string{"oci:layout:3", "oci-archive:oci.tar:3", "docker-archive:docker.tar:python:3"} {
		skopeo("oci:"+from+":3", form)
	}
	skopeo("--dest-compress-format", "zstd", "--dest-compress", "oci:"+from+":3", "oci:zstd:3")
	s := newStore(t)
	for _, path := range []string{"layout", "oci.tar", "docker.tar", "zstd"} {
		got, err := s.Import(t.Context(), filepath.Join(dir, path), Options{Name: path})
		must(t, err)
		r := root(t, s, path)
		if files := list(t, r.Dir); !slices.Equal(files, pythonFiles) || r.Config.WorkingDir != "/srv" {
			t.Errorf("%s: %+v, %q", path, got, files)
		}
	}
	if left := roots(t, s); len(left) != 1 {
		t.Errorf("roots %q of one image", left)
	}
	skopeo("oci:"+s.layout.Dir()+":layout", "oci-archive:back.tar:3")
	back, err := s.Import(t.Context(), filepath.Join(dir, "back.tar"), Options{Name: "layout"})
	must(t, err)
	if !back.Unchanged {
		t.Errorf("what skopeo read of the store: %+v", back)
	}
}

// TestUmoci imports what umoci makes, and unpacks to the same files.
func TestUmoci(t *testing.T) {
	needs(t, "umoci")
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	must(t, os.MkdirAll(filepath.Join(tree, "lib", "deep"), 0o755))
	must(t, os.WriteFile(filepath.Join(tree, "lib", "deep", "file"), []byte("contents"), 0o755))
	must(t, os.WriteFile(filepath.Join(tree, "lib", "old"), []byte("goes"), 0o600))
	must(t, os.Symlink("deep/file", filepath.Join(tree, "lib", "link")))
	must(t, os.Link(filepath.Join(tree, "lib", "deep", "file"), filepath.Join(tree, "lib", "hard")))
	umoci := func(args ...string) { tool(t, dir, append([]string{"umoci"}, args...)...) }
	umoci("init", "--layout", "image")
	umoci("new", "--image", "image:1")
	umoci("insert", "--rootless", "--image", "image:1", "tree/lib", "/usr/lib")
	umoci("insert", "--rootless", "--image", "image:1", "--whiteout", "/usr/lib/old")
	umoci("insert", "--rootless", "--image", "image:1", "--opaque", "tree/lib/deep", "/usr/lib/deep")
	umoci("config", "--image", "image:1", "--config.env", "A=b", "--config.workingdir", "/usr")
	s := newStore(t)
	if _, err := s.Import(t.Context(), filepath.Join(dir, "image"), Options{Name: "umoci"}); err != nil {
		t.Fatal(err)
	}
	umoci("unpack", "--rootless", "--image", "image:1", "bundle")
	r := root(t, s, "umoci")
	got, want := list(t, r.Dir), list(t, filepath.Join(dir, "bundle", "rootfs"))
	if !slices.Equal(got, want) || len(got) < 6 {
		t.Errorf("unpacked\n%q\numoci has\n%q", got, want)
	}
	if !slices.Contains(r.Config.Env, "A=b") || r.Config.WorkingDir != "/usr" || strings.Contains(strings.Join(got, " "), "goes") {
		t.Errorf("config %+v", r.Config)
	}
}
