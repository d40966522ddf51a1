package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// imageConfig is an image's configuration (OCI image specification, config.md).
type imageConfig struct {
	Env        []string
	Entrypoint []string            `json:",omitempty"`
	Cmd        []string            `json:",omitempty"`
	WorkingDir string              `json:",omitempty"`
	User       string              `json:",omitempty"`
	Volumes    map[string]struct{} `json:",omitempty"`
	Labels     map[string]string   `json:",omitempty"`
}

// importImage makes an image of a directory, as an OCI layout, and imports it.
func (h *harness) importImage(name, dir string, config imageConfig) {
	h.t.Helper()
	h.mustRun("image", "import", h.layout(dir, config), "--name", name)
}

// layout writes an OCI image layout of one layer.
func (h *harness) layout(dir string, config imageConfig) string {
	h.t.Helper()
	return h.layoutOf(config, dir)
}

// layoutOf writes an OCI image layout with a layer of each directory.
func (h *harness) layoutOf(config imageConfig, dirs ...string) string {
	h.t.Helper()
	to, err := os.MkdirTemp(h.dir, "layout")
	if err != nil {
		h.t.Fatal(err)
	}
	put := func(data []byte) map[string]any {
		digest := fmt.Sprintf("%x", sha256.Sum256(data))
		path := filepath.Join(to, "blobs", "sha256", digest)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			h.t.Fatal(err)
		}
		return map[string]any{"digest": "sha256:" + digest, "size": len(data)}
	}
	document := func(kind string, content any) map[string]any {
		raw, err := json.Marshal(content)
		if err != nil {
			h.t.Fatal(err)
		}
		desc := put(raw)
		desc["mediaType"] = "application/vnd.oci.image." + kind + "+json"
		return desc
	}
	var layers, ids []any
	for _, dir := range dirs {
		layer := put(tarOf(h.t, dir))
		layer["mediaType"] = "application/vnd.oci.image.layer.v1.tar"
		layers, ids = append(layers, layer), append(ids, layer["digest"])
	}
	about := document("config.v1", map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	})
	manifest := document("manifest.v1", map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": about, "layers": layers,
	})
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})
	if err := errors.Join(err, os.WriteFile(to+"/index.json", index, 0o644),
		os.WriteFile(to+"/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)); err != nil {
		h.t.Fatal(err)
	}
	return to
}

// tarOf packs directories, files and links.
func tarOf(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err = os.Readlink(path)
		}
		header, headerErr := tar.FileInfoHeader(info, target)
		if err := errors.Join(err, headerErr); err != nil {
			return err
		}
		header.Name = strings.TrimPrefix(path, dir+"/")
		if err := w.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		_, written := w.Write(data)
		return errors.Join(err, written)
	})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// imageLine is a line of `image ls --json`.
type imageLine struct {
	Name      string  `json:"name"`
	Reference string  `json:"reference"`
	Rootfs    *string `json:"rootfs_digest"`
	Packages  *string `json:"packages_digest"`
}

func (h *harness) images() map[string]imageLine {
	h.t.Helper()
	all := map[string]imageLine{}
	for line := range strings.Lines(h.mustRun("image", "ls", "--json").stdout) {
		var one imageLine
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			h.t.Fatal(err)
		}
		all[one.Name] = one
	}
	return all
}

// roots are the unpacked roots of images.
func (h *harness) roots() []string { return matches(filepath.Join(h.root, "images/roots/*/tree")) }

// TestRootfsImage: which parts of an image are used, and what a result says about it.
func TestRootfsImage(t *testing.T) {
	h := newHarness(t)
	packages := "sha256:" + strings.Repeat("ab", 32)
	h.importImage("small", h.tree("tree", alpine(map[string]string{"opt/bin/tool": "->/bin/busybox", "srv/x": "x"})), imageConfig{
		Env: []string{
			"PATH=/opt/bin:/bin", "HOME=/root", "LANG=de_DE", "TZ=Europe/Berlin", "GREETING=hello", "OTHER=image", "EMPTY=", "OMP_NUM_THREADS=64",
			"SCIDEX_DATA_DIR=/elsewhere", "1BAD=x", "no pair", "PYTHONHASHSEED=random", "USER=root",
		},
		Entrypoint: []string{"/bin/false"}, Cmd: []string{"false"}, WorkingDir: "/srv", User: "0:0",
		Volumes: map[string]struct{}{"/srv": {}}, Labels: map[string]string{"org.scidex.packages": packages},
	})
	known := h.images()["small"]
	script := `cat /etc/os-release; id -un; pwd; echo $PATH; echo $HOME; echo $LANG $TZ $GREETING $OTHER $EMPTY. $OMP_NUM_THREADS $SCIDEX_DATA_DIR. $PYTHONHASHSEED $USER; env | grep -c BAD; cat /srv/x; echo x 2>/dev/null >/srv/x || echo read-only`
	r := h.start("--id", h.newID(), "--rootfs", "small", "--env", "OTHER=mine", "--", "sh", "-c", script)
	r.expect(t, "complete", "exit", 0)
	want := "NAME=image\nanalysis\n/work\n/opt/bin:/bin\n/home/analysis\nC.UTF-8 UTC hello mine . 1 . 0 analysis\n0\nxread-only\n"
	if got := h.stdoutOf(r); got != want {
		t.Errorf("inside: %q, want %q", got, want)
	}
	for name, c := range map[string]struct{ got, want *string }{
		"rootfs_digest": {r.Sandbox.RootfsDigest, known.Rootfs}, "rootfs_reference": {r.Sandbox.Reference, &known.Reference},
		"packages_digest": {r.Sandbox.Packages, &packages}, "packages_digest of image ls": {known.Packages, &packages},
	} {
		if c.got == nil || c.want == nil || *c.got != *c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if shown := h.show(r.ID); *shown.Sandbox.RootfsDigest != *known.Rootfs {
		t.Errorf("show: %+v", shown.Sandbox)
	}
	out := h.mustRun("show", r.ID).stdout
	for _, word := range []string{"rootfs small", *known.Rootfs, known.Reference, packages} {
		if !strings.Contains(out, word) {
			t.Errorf("show has no %q:\n%s", word, out)
		}
	}
	h.mustRefuse([]string{"run", "--id", h.newID(), "--rootfs", "small"}, "nothing to run") // the entry point is not run
	h.mustRefuse([]string{"run", "--id", h.newID(), "--rootfs", "missing", "--", "true"}, "missing", "image ls")
	host := h.start("--id", h.newID(), "--", "sh", "-c", "echo $PATH$GREETING")
	if got := h.stdoutOf(host); got != "/usr/local/bin:/usr/bin:/bin\n" {
		t.Errorf("on the host's programs: %q", got)
	}
}

// reachable lets the ids of root's containers reach the bundles and the roots of images.
func (h *harness) reachable() {
	h.t.Helper()
	modes := map[string]os.FileMode{h.dir: 0o755}
	for dir := h.root; dir != os.TempDir(); dir = filepath.Dir(dir) {
		modes[dir] = 0o755
	}
	for _, root := range h.roots() {
		for dir := filepath.Dir(root); dir != h.root; dir = filepath.Dir(dir) {
			modes[dir] = 0o711
		}
	}
	for dir, mode := range modes {
		if err := os.Chmod(dir, mode); err != nil {
			h.t.Fatal(err)
		}
	}
}

// TestRootfsImageBundle: a bundle of an image gives the same result under the distribution's runc as the run.
func TestRootfsImageBundle(t *testing.T) {
	h := newHarness(t)
	h.importImage("small", h.tree("tree", alpine(nil)), imageConfig{Env: []string{"PATH=/bin", "GREETING=hello"}})
	h.reachable()
	request := []string{"--rootfs", "small", "--", "sh", "-c", "cat /etc/os-release; echo $GREETING $PATH; grep analysis /etc/passwd | cat >/dev/null; ls -A /"}
	r := h.start(append([]string{"--id", h.newID()}, request...)...)
	r.expect(t, "complete", "exit", 0)
	id := h.newID()
	h.mustRun(append([]string{"spec", "--bundle", "bundle", "--id", id}, request...)...)
	out := h.finish(h.command("runc", "--root", h.path("state"), "run", "--bundle", h.path("bundle"), id))
	if want := h.stdoutOf(r); out.code != 0 || out.stdout != want || !strings.HasPrefix(want, "NAME=image\nhello /bin\n") {
		t.Errorf("runc: %d\n%s\nthe run:\n%s\n%s", out.code, out.stdout, want, out.stderr)
	}
}

// TestRootfsShared: many runs at once have one root.
func TestRootfsShared(t *testing.T) {
	const runs = 20
	h := newHarness(t)
	h.importImage("small", h.tree("tree", alpine(nil)), imageConfig{})
	before := snapshot(t, filepath.Join(h.root, "images"))
	ids := make([]string, runs)
	for i := range ids {
		ids[i] = h.newID()
		t.Cleanup(func() { h.endDetached(ids[i]) })
	}
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			h.do("run", "--detach", "--id", id, "--rootfs", "small", "--", "sh", "-c", "stat -c 'inode %i' /bin/busybox; cat /etc/os-release; sleep 1000")
		})
	}
	all.Wait()
	for _, id := range ids {
		h.logged(id, "NAME=image")
		if state := h.show(id).State; state != "running" {
			t.Errorf("%s is %s", id, state)
		}
	}
	roots := h.roots()
	if len(roots) != 1 {
		t.Fatalf("roots %q", roots)
	}
	var shared unix.Stat_t
	if err := unix.Stat(roots[0]+"/bin/busybox", &shared); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		// overlayfs shows the number that the file has below, and may put one of the layer into its upper bits (xino).
		var inode uint64
		if _, err := fmt.Sscanf(h.mustRun("logs", id).stdout, "inode %d\n", &inode); err != nil || uint32(inode) != uint32(shared.Ino) {
			t.Errorf("%s has inode %d in place of %d: %v", id, inode, shared.Ino, err)
		}
	}
	if out := h.mustRun("image", "rm", "small").stdout; !strings.Contains(out, "in use") {
		t.Errorf("rm of an image that %d runs use: %q", runs, out)
	}
	if _, err := os.Stat(h.roots()[0] + "/etc/os-release"); err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		all.Go(func() { h.do("stop", id) })
	}
	all.Wait()
	for _, id := range ids {
		r := h.show(id)
		if r.expect(t, "canceled", "stopped", 143); r.Sandbox.RootfsDigest == nil {
			t.Errorf("%s: no digest", id)
		}
	}
	if after := snapshot(t, h.roots()[0]); !slices.Equal(keysBelow(before, h.roots()[0]), keysBelow(after, h.roots()[0])) {
		t.Error("the root changed")
	}
	h.mustRun("gc")
	if left := h.roots(); len(left) > 0 {
		t.Errorf("roots after gc: %q", left)
	}
}

// keysBelow lists the entries of a snapshot below a directory.
func keysBelow(snapshot map[string]string, dir string) (lines []string) {
	for path, what := range snapshot {
		if strings.HasPrefix(path, dir) {
			lines = append(lines, path+" "+what)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestRootfsDamaged: no result of a changed root filesystem is committed. The root is made again, or, if others use it,
// refused.
func TestRootfsDamaged(t *testing.T) {
	h := newHarness(t)
	h.importImage("small", h.tree("tree", alpine(nil)), imageConfig{})
	release := h.roots()[0] + "/etc/os-release"
	run := func() result { return h.start("--id", h.newID(), "--rootfs", "small", "--", "cat", "/etc/os-release") }
	good := run()
	good.expect(t, "complete", "exit", 0)
	spoil := func() {
		t.Helper()
		if err := errors.Join(os.Chmod(release, 0o644), os.WriteFile(release, []byte("NAME=other\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	spoil()
	// The check runs during the start and ends before the root is mounted or after it; both are reported.
	r := run()
	switch {
	case r.State == "complete" && strings.Contains(strings.Join(r.Warnings, "\n"), "was made again"):
		if got := h.stdoutOf(r); got != "NAME=image\n" {
			t.Errorf("inside: %q", got)
		}
	case r.State == "error" && strings.Contains(r.Message, "run this again"):
		if r.expect(t, "error", "sandbox", 125); r.Sandbox.RootfsDigest != nil {
			t.Errorf("it claims the digest %s", *r.Sandbox.RootfsDigest)
		}
	default:
		t.Fatalf("%s: %s %q", r.State, r.Message, r.Warnings)
	}
	again := run()
	if again.expect(t, "complete", "exit", 0); h.stdoutOf(again) != "NAME=image\n" || len(again.Warnings) != len(good.Warnings) {
		t.Errorf("afterwards: %q %q", h.stdoutOf(again), again.Warnings)
	}

	user := h.newID()
	h.detach(user, "--rootfs", "small", "--", "sh", "-c", "echo ready; sleep 1000")
	h.logged(user, "ready")
	spoil()
	for range 2 {
		r := run()
		if r.expect(t, "error", "sandbox", 125); !strings.Contains(r.Message, "etc/os-release") || !strings.Contains(r.Message, "runs are using it") || r.Sandbox.RootfsDigest != nil {
			t.Errorf("%q, %+v", r.Message, r.Sandbox)
		}
		h.mustRun("rm", r.ID)
	}
	h.mustRun("stop", user)
}

// holdCheck keeps any process that opens the seal of the root from reading it until resume.
func (h *harness) holdCheck() (resume func()) {
	h.t.Helper()
	seal := filepath.Join(filepath.Dir(h.roots()[0]), "seal")
	whole := []byte(readFile(h.t, seal))
	pipe := seal + ".pipe"
	mkfifo(h.t, pipe)
	exchange := func() {
		if err := unix.Renameat2(unix.AT_FDCWD, seal, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE); err != nil {
			h.t.Fatal(err)
		}
	}
	exchange()
	return func() {
		h.t.Helper()
		var writer *os.File
		until(h.t, hangTimeout, "the seal is being read", func() bool {
			exchange() // a process that goes on reads the true seal when it looks again
			var err error
			if writer, err = os.OpenFile(pipe, os.O_WRONLY|unix.O_NONBLOCK, 0); err != nil {
				exchange()
			}
			return err == nil
		})
		_, err := writer.Write(whole)
		if err := errors.Join(err, writer.Close(), os.Remove(pipe)); err != nil && !errors.Is(err, syscall.EPIPE) {
			h.t.Fatal(err)
		}
	}
}

// TestRootfsCheckIsConcurrent: an analysis does not wait for the check of its root, but its result does, and a damaged
// root ends it.
func TestRootfsCheckIsConcurrent(t *testing.T) {
	h := newHarness(t)
	h.importImage("small", h.tree("tree", alpine(nil)), imageConfig{})
	for name, c := range map[string]struct {
		spoil         bool
		state, reason string
		code          int
	}{
		"good":    {false, "complete", "exit", 0},
		"damaged": {true, "error", "sandbox", 125},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			resume := h.holdCheck()
			id := h.newID()
			command := "echo ready >/work/out; echo ready"
			if c.spoil {
				command += "; sleep 1000" // it is ended for the damage
			}
			h.detach(id, "--keep", "never", "--rootfs", "small", "--", "sh", "-c", command)
			h.logged(id, "ready")
			if r := h.show(id); r.State != "running" || r.Sandbox.RootfsDigest != nil {
				t.Errorf("%s before the check has ended, with the digest %v", r.State, r.Sandbox.RootfsDigest)
			}
			if c.spoil {
				release := h.roots()[0] + "/etc/os-release"
				if err := errors.Join(os.Chmod(release, 0o644), os.WriteFile(release, []byte("NAME=other\n"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			resume()
			h.do("show", "--wait", id)
			r := h.show(id)
			r.expect(t, c.state, c.reason, c.code)
			if c.spoil && (r.Sandbox.RootfsDigest != nil || !strings.Contains(r.Message, "run this again") || r.OutputsTotal > 0) {
				t.Errorf("%q, %+v", r.Message, r.Sandbox)
			}
			if !c.spoil && (r.Sandbox.RootfsDigest == nil || r.OutputsTotal != 1) {
				t.Errorf("%+v", r.Sandbox)
			}
			h.mustRun("rm", id)
		})
	}
}

// TestRootfsAgain: a run is repeated on the same root filesystem, or not at all, unless the image is named again.
func TestRootfsAgain(t *testing.T) {
	h := newHarness(t)
	h.importImage("small", h.tree("tree", alpine(nil)), imageConfig{})
	id := h.newID()
	first := h.start("--id", id, "--rootfs", "small", "--", "cat", "/etc/os-release")
	first.expect(t, "complete", "exit", 0)
	second := h.start("--again", id)
	if second.expect(t, "complete", "exit", 0); *second.Sandbox.RootfsDigest != *first.Sandbox.RootfsDigest {
		t.Errorf("%s, then %s", *first.Sandbox.RootfsDigest, *second.Sandbox.RootfsDigest)
	}
	h.importImage("small", h.tree("other", alpine(map[string]string{"etc/os-release": "NAME=newer\n"})), imageConfig{})
	now := *h.images()["small"].Rootfs
	h.mustRefuse([]string{"run", "--again", id}, "--again "+id, `"small"`, "attempt 2", *first.Sandbox.RootfsDigest, now, "--rootfs small")
	third := h.start("--again", id, "--rootfs", "small")
	if third.expect(t, "complete", "exit", 0); h.stdoutOf(third) != "NAME=newer\n" || *third.Sandbox.RootfsDigest != now {
		t.Errorf("%q on %s", h.stdoutOf(third), *third.Sandbox.RootfsDigest)
	}
	h.start("--again", id).expect(t, "complete", "exit", 0)
}

// TestRootfsHeld: the supervisor, which may live a moment longer than its launcher, also holds the root; nothing of a
// killed run does.
func TestRootfsHeld(t *testing.T) {
	h := newHarness(t)
	h.importImage("small", h.tree("tree", alpine(nil)), imageConfig{})
	id := h.newID()
	h.detach(id, "--rootfs", "small", "--", "sh", "-c", "echo ready; sleep 1000")
	h.logged(id, "ready")
	launcher := h.launcher(id)
	all := familyOf(t, launcher.pid)
	root := filepath.Dir(h.roots()[0])
	held := map[bool]int{} // by whether it is the launcher
	for _, w := range all {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.pid))
		if errors.Is(err, fs.ErrPermission) && !theHost.root {
			continue // another id's
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range open {
			if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", w.pid, fd.Name())); err == nil && target == root {
				held[w.pid == launcher.pid]++
				if w.pid != launcher.pid && !strings.HasPrefix(w.command, "scidex-oci: supervisor") {
					t.Errorf("%q has the root open", w.command)
				}
			}
		}
	}
	if held[true] != 1 || held[false] != 1 {
		t.Errorf("open in launcher and others: %v", held)
	}
	launcher.kill(t)
	expectGone(t, all, id)
	h.expectLost(id)
	if out := h.mustRun("image", "rm", "small").stdout; strings.Contains(out, "in use") {
		t.Errorf("rm when the run was killed: %q", out)
	}
	if left := h.roots(); len(left) > 0 {
		t.Errorf("roots %q", left)
	}
}
