package e2e

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// netLines are command lines that only scidex-oci-net can do.
func netLines() map[string][]string {
	return map[string][]string{
		"a command":      {"image", "ls"},
		"its help":       {"help", "worker"},
		"a completion":   {"completion", "bash"},
		"PostgreSQL":     {"--db", "postgres://user@127.0.0.1:1/none", "ls"},
		"S3":             {"--blobs", "s3://bucket?endpoint=http://127.0.0.1:1", "run", "--", "true"},
		"a detached run": {"--db", "postgres://user@127.0.0.1:1/none", "run", "--detach", "--", "true"},
	}
}

// TestNetProgram: scidex-oci executes the program next to it for what it lacks itself.
func TestNetProgram(t *testing.T) {
	h := newHarness(t)
	program := h.copied(true)
	for title, line := range netLines() {
		out := h.finish(h.command(program, line...))
		if refused := strings.Contains(out.stderr, netProgram); refused || len(out.stdout)+len(out.stderr) == 0 && title != "a command" {
			t.Errorf("%s: %+v", title, out)
		}
	}
	for title, words := range map[string]string{"PostgreSQL": "PostgreSQL cannot be reached", "a detached run": "PostgreSQL cannot be reached"} {
		if out := h.finish(h.command(program, netLines()[title]...)); out.code != 125 || !strings.Contains(out.stderr, words) {
			t.Errorf("%s: %+v", title, out)
		}
	}
}

// TestNetProgramMissing: without it scidex-oci says so, and has done nothing.
func TestNetProgramMissing(t *testing.T) {
	h := newHarness(t)
	program := h.copied(false)
	h.setenv("SCIDEX_OCI_ROOT", h.path("fresh"))
	for title, line := range netLines() {
		out := h.finish(h.command(program, line...))
		if out.code != 125 || !strings.Contains(out.stderr, netProgram+", which is not in the directory of this program") {
			t.Errorf("%s: %+v", title, out)
		}
	}
	if _, err := os.Lstat(h.path("fresh")); err == nil {
		t.Error("a refused command has made the root")
	}
}

// TestRootByNetProgram: a root filesystem that is missing is made again from compressed layers, which only scidex-oci-net can read.
func TestRootByNetProgram(t *testing.T) {
	h := newHarness(t)
	tree := h.tree("tree", alpine(nil))
	for compression, compress := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			encoder, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return encoder
		},
	} {
		t.Run(compression, func(t *testing.T) {
			h := h.in(t)
			h.mustRun("image", "import", h.packed(tree, compress), "--name", compression)
			h.remakes(compression)
		})
	}
}

// packed writes a compressed archive of a tree.
func (h *harness) packed(tree string, compress func(io.Writer) io.WriteCloser) (archive string) {
	h.t.Helper()
	tar, err := exec.Command("tar", "-C", tree, "-c", ".").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	var packed bytes.Buffer
	w := compress(&packed)
	_, err = w.Write(tar)
	if err := errors.Join(err, w.Close()); err != nil {
		h.t.Fatal(err)
	}
	return h.write(h.newID()+".tar", packed.String(), 0o644)
}

// remakes runs on an image whose root is missing, first without scidex-oci-net.
func (h *harness) remakes(name string) {
	h.t.Helper()
	for _, root := range h.roots() {
		if err := os.RemoveAll(filepath.Dir(root)); err != nil {
			h.t.Fatal(err)
		}
	}
	program := h.copied(true)
	if err := os.Remove(filepath.Join(filepath.Dir(program), netProgram)); err != nil {
		h.t.Fatal(err)
	}
	line := []string{"run", "-q", "--rootfs", name, "--", "cat", "/etc/os-release"}
	out := h.finish(h.command(program, line...))
	if out.code != 125 || !strings.Contains(out.stderr, netProgram+", which is not in the directory of this program") || len(h.roots()) != 0 {
		h.t.Errorf("without it: %+v, roots %q", out, h.roots())
	}
	out = h.finish(h.command(h.copied(true), line...))
	if out.code != 0 || out.stdout != "NAME=image\n" || len(h.roots()) != 1 {
		h.t.Errorf("with it: %+v, roots %q", out, h.roots())
	}
}

// TestOtherNetProgram: a program that was not built with scidex-oci, or that others may write to, is never executed.
func TestOtherNetProgram(t *testing.T) {
	for title, c := range map[string]struct {
		content func(own string) string
		mode    os.FileMode
		words   string
	}{
		"a script":         {func(string) string { return "#!/bin/sh\ntouch executed\n" }, 0o755, "was not built with"},
		"of another build": {func(own string) string { return own[:len(own)-2] + "\n\n" }, 0o755, "was not built with"},
		"writable for all": {func(own string) string { return own }, 0o777, "others may write"},
		"not executable":   {func(own string) string { return own }, 0o644, "not a regular file"},
	} {
		t.Run(title, func(t *testing.T) {
			h := newHarness(t)
			program := h.copied(true)
			path := filepath.Join(filepath.Dir(program), netProgram)
			content := c.content(readFile(t, path))
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			h.write("programs/"+netProgram, content, c.mode)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			out := h.finish(h.command(program, "image", "ls"))
			if out.code != 125 || !strings.Contains(out.stderr, c.words) {
				t.Errorf("%+v", out)
			}
			if _, err := os.Lstat(h.path("executed")); err == nil {
				t.Error("it was executed")
			}
		})
	}
}
