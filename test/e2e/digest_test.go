package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An output of one run is the input of another, by its digest alone: verified, and refused where it is not there or not
// what it was.
func TestInputByDigest(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		h := newHouse(t)
		h.inputByDigest(h, func(sum string) string { return filepath.Join(h.root, "blobs", "sha256", sum) })
	})
	t.Run("S3", func(t *testing.T) {
		h, b := inS3(t)
		other := newHouse(t)
		b.furnish(other)
		other.setenv("SCIDEX_OCI_DB", "sqlite://"+filepath.Join(h.root, "catalog.db"))
		h.inputByDigest(other, func(sum string) string { return filepath.Join(b.objects, "some%20where", "sha256", sum) })
	})
}

// inputByDigest makes an output here and takes it as an input there; blob is where it is kept.
func (h *house) inputByDigest(there *house, blob func(sum string) string) {
	t := h.t
	r := h.start("--id", h.fresh(), "--", "sh", "-c", "echo an output >out")
	r.expect(t, "complete", "exit", 0)
	digest := "sha256:" + r.output("out").SHA256
	there.write("manifest.yaml", "inputs: ['"+digest+":from/manifest']\ncommand: [cat, /inputs/from/manifest]\n", 0o644)
	for _, args := range [][]string{
		{"--input", digest, "--", "cat", "/inputs/" + r.output("out").SHA256},
		{"--input", digest + ":name", "--", "cat", "/inputs/name"},
		{"--input", digest + ":/models/m", "--", "cat", "/models/m"},
		{"-f", "manifest.yaml"},
	} {
		id := there.fresh()
		there.start(append(flags("--id", id), args...)...).expect(t, "complete", "exit", 0)
		if got := there.good("logs", id).stdout; got != "an output\n" {
			t.Errorf("%q: %q", args, got)
		}
	}
	there.bad([]string{"run", "--input", "sha256:" + strings.Repeat("0", 64), "--", "true"}, "there is no blob sha256:000")
	there.bad([]string{"run", "--input", "sha256:0", "--", "true"}, "is no digest")
	there.good("gc")
	path := blob(r.output("out").SHA256)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("an outpUt\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	there.bad([]string{"run", "--input", digest, "--", "true"}, "corrupt")
}
