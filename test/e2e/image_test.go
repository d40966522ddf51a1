package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// rootTar writes a tar of a root filesystem of many files, of some megabytes that no compression makes smaller.
func (h *harness) rootTar(name string) string {
	h.t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	contents := make([]byte, 16<<10)
	for i := range 1000 {
		for j := range contents {
			contents[j] = byte(rand.Uint32())
		}
		header := &tar.Header{Name: fmt.Sprintf("usr/lib/part-%d/file-%d", i%10, i), Mode: 0o644, Size: int64(len(contents))}
		if err := w.WriteHeader(header); err != nil {
			h.t.Fatal(err)
		}
		if _, err := w.Write(contents); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		h.t.Fatal(err)
	}
	return h.write(name, buffer.String(), 0o644)
}

// imageNames are the names that the store has.
func (h *harness) imageNames() []string {
	h.t.Helper()
	return strings.Fields(h.mustRun("image", "ls", "-q").stdout)
}

// stored is what the store has on disk, but for its index.
func (h *harness) stored() []string {
	var all []string
	for _, pattern := range []string{"blobs/sha256/*", "roots/*", "ingest/*"} {
		all = append(all, matches(filepath.Join(h.root, "images", pattern))...)
	}
	return all
}

// importing starts an import of a tar and returns when it is in a phase: a pipe that nobody reads holds it there.
func (h *harness) importing(path, phase string) (end func(syscall.Signal) outcome) {
	h.t.Helper()
	cmd := h.command(theHost.bin, "image", "import", path, "--name", "x", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	lines := json.NewDecoder(out)
	for {
		var line struct{ Type, Phase string }
		if err := lines.Decode(&line); err != nil || line.Type != "progress" {
			h.t.Fatalf("no line of the phase %s: %+v, %v", phase, line, err)
		}
		if line.Phase == phase {
			break
		}
	}
	return func(signal syscall.Signal) outcome {
		if err := cmd.Process.Signal(signal); err != nil {
			h.t.Fatal(err)
		}
		_ = cmd.Wait()
		return outcome{code: cmd.ProcessState.ExitCode(), stderr: stderr.String()}
	}
}

// TestImageStopped ends an import by a signal. After a signal that can be caught nothing is left; after SIGKILL the
// next gc removes the rest.
func TestImageStopped(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGKILL: -1} {
		for _, phase := range []string{"read", "copy", "unpack"} {
			t.Run(fmt.Sprint(signal, " ", phase), func(t *testing.T) {
				h := newHarness(t)
				out := h.importing(h.rootTar("root.tar"), phase)(signal)
				// It may have been at its end already.
				if out.code != code && out.code != 0 {
					t.Errorf("exit code %d, want %d: %s", out.code, code, out.stderr)
				}
				if out.code == 0 {
					return
				}
				if code > 0 && !strings.HasPrefix(out.stderr, "scidex-oci: stopped by SIG") {
					t.Errorf("it said %q", out.stderr)
				}
				if names := h.imageNames(); len(names) != 0 {
					t.Errorf("images %q", names)
				}
				if signal == syscall.SIGKILL {
					h.mustRun("gc")
				}
				left := slices.DeleteFunc(h.stored(), func(path string) bool {
					// A later pull can resume a partial file; gc keeps it for a day.
					return signal == syscall.SIGKILL && filepath.Base(filepath.Dir(path)) == "ingest"
				})
				if len(left) != 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// TestImageTogether imports one image by ten commands at once.
func TestImageTogether(t *testing.T) {
	h := newHarness(t)
	path := h.rootTar("root.tar")
	ended := make(chan outcome)
	for i := range 10 {
		cmd := h.command(theHost.bin, "image", "import", path, "--name", fmt.Sprintf("same-%d", i%2), "--json")
		go func() {
			stdout, err := cmd.Output()
			if err != nil {
				t.Errorf("%v: %s", err, cmd.Stderr)
			}
			lines := strings.Split(strings.TrimSpace(string(stdout)), "\n")
			ended <- outcome{stdout: lines[len(lines)-1]}
		}()
	}
	digests := map[string]bool{}
	for range 10 {
		var one struct {
			Type   string
			Digest string `json:"rootfs_digest"`
		}
		if err := json.Unmarshal([]byte((<-ended).stdout), &one); err != nil || one.Type != "image" {
			t.Errorf("%+v, %v", one, err)
		}
		digests[one.Digest] = true
	}
	if names := h.imageNames(); len(digests) != 1 || !slices.Equal(names, []string{"same-0", "same-1"}) || len(h.stored()) != 4 {
		t.Errorf("digests %v, names %q, stored %q", digests, names, h.stored())
	}
}

// TestImageBars shows bars on a terminal, which are full at the end, and nothing of them elsewhere.
func TestImageBars(t *testing.T) {
	h := newHarness(t)
	path := h.rootTar("root.tar")
	term := newTerminal(t)
	if err := unix.IoctlSetWinsize(int(term.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	cmd := h.command(theHost.bin, "image", "import", path, "--name", "x")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	before := term.state()
	if err := term.on(cmd, false); err != nil {
		t.Fatalf("%v\n%s", err, term.screen())
	}
	screen := term.screen()
	for _, want := range []string{"read", "copy", "unpack", "16.1 MiB / 16.1 MiB", "reference   x@sha256:"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in %q", want, screen)
		}
	}
	if after := term.state(); after != before {
		t.Errorf("the terminal was %s and is %s", before, after)
	}
	for _, args := range [][]string{{"image", "import", path, "--name", "y"}, {"image", "rm", "x", "y"}} {
		if out := h.mustRun(args...); out.stderr != "" {
			t.Errorf("%q said %q", args, out.stderr)
		}
	}
}

// TestImageUnreadable names what it may not read, and a root that it may not write to.
func TestImageUnreadable(t *testing.T) {
	h := newHarness(t)
	path := h.write("root.tar", "x", 0)
	if theHost.root { // who may read everything finds that it is no tar
		h.mustRefuse([]string{"image", "import", path, "--name", "x"}, "no tar")
		return
	}
	h.mustRefuse([]string{"image", "import", path, "--name", "x"}, "root.tar", "permission denied")
	if err := os.MkdirAll(h.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(h.root, "images")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.root, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(h.root, 0o700) }()
	h.mustRefuse([]string{"image", "ls"}, "permission denied")
}

// TestImageLines holds every line of JSON against the schema.
func TestImageLines(t *testing.T) {
	h := newHarness(t)
	path := h.rootTar("root.tar")
	types := map[string]int{}
	for _, args := range [][]string{{"import", path, "--name", "x"}, {"import", path, "--name", "x"}, {"ls"}} {
		for line := range strings.Lines(h.mustRun(append([]string{"image"}, append(args, "--json")...)...).stdout) {
			var one struct{ Type, Phase string }
			if err := decode("image.json", []byte(line), &one); err != nil {
				t.Error(err)
			}
			types[one.Type+one.Phase]++
		}
	}
	for _, want := range []string{"progressread", "progresscopy", "progressunpack", "image", ""} {
		if types[want] == 0 {
			t.Errorf("no line of %q among %v", want, types)
		}
	}
}

// TestImageInUse removes an image during a run: the name is removed at once, the root when the run has ended.
func TestImageInUse(t *testing.T) {
	h := newHarness(t)
	h.importImage("small", h.tree("tree", alpine(nil)), imageConfig{})
	id := h.newID()
	h.detach(id, "--rootfs", "small", "--", "sh", "-c", "trap 'cat /etc/os-release; exit 3' TERM; echo ready; sleep 1000 & wait")
	h.logged(id, "ready")
	if out := h.mustRun("image", "rm", "small").stdout; !strings.HasPrefix(out, "small is in use: ") {
		t.Errorf("rm said %q", out)
	}
	h.mustRefuse([]string{"run", "--rootfs", "small", "--", "true"}, `no image "small"`)
	h.mustRun("gc")
	if len(h.roots()) != 1 {
		t.Errorf("roots %q while the run goes on", h.roots())
	}
	h.mustRun("stop", id)
	r := h.show(id)
	r.expect(t, "canceled", "stopped", 143)
	if got := h.stdoutOf(r); got != "ready\nNAME=image\n" {
		t.Errorf("when its image had been removed, the run read %q", got)
	}
	h.mustRun("gc")
	if len(h.roots()) != 0 || len(h.stored()) != 0 {
		t.Errorf("left behind: %q", h.stored())
	}
}
