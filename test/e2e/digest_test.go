package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An output of one run is the input of another, by its digest or by its URL in the blob store: verified, and refused if
// it is missing or damaged.
func TestInputByDigest(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		h := newHarness(t)
		h.inputByDigest(h, "file://"+filepath.Join(h.root, "blobs"), func(sum string) string { return filepath.Join(h.root, "blobs", "sha256", sum) })
	})
	t.Run("S3", func(t *testing.T) {
		h, b := inS3(t)
		other := newHarness(t)
		b.configure(other)
		other.setenv("SCIDEX_OCI_DB", "sqlite://"+filepath.Join(h.root, "catalog.db"))
		h.inputByDigest(other, b.store(), func(sum string) string { return filepath.Join(b.objects, "some%20where", "sha256", sum) })
	})
}

// inputByDigest makes an output here and uses it as an input there, with the blob store at a URL; blob is its file.
func (h *harness) inputByDigest(there *harness, store string, blob func(sum string) string) {
	t := h.t
	r := h.start("--id", h.newID(), "--", "sh", "-c", "echo an output >out")
	r.expect(t, "complete", "exit", 0)
	digest := "sha256:" + r.output("out").SHA256
	url := store + "/sha256/" + r.output("out").SHA256
	there.write("manifest.yaml", "inputs: ['"+digest+":from/manifest']\ncommand: [cat, /inputs/from/manifest]\n", 0o644)
	for _, args := range [][]string{
		{"--input", digest, "--", "cat", "/inputs/" + r.output("out").SHA256},
		{"--input", digest + ":name", "--", "cat", "/inputs/name"},
		{"--input", digest + ":/models/m", "--", "cat", "/models/m"},
		{"-f", "manifest.yaml"},
		{"--input", url, "--", "cat", "/inputs/" + r.output("out").SHA256},
		{"--input", url + ":name", "--", "cat", "/inputs/name"},
		{"--input", url + ":/models/m", "--", "cat", "/models/m"},
	} {
		id := there.newID()
		there.start(append(flags("--id", id), args...)...).expect(t, "complete", "exit", 0)
		if got := there.mustRun("logs", id).stdout; got != "an output\n" {
			t.Errorf("%q: %q", args, got)
		}
	}
	there.mustRefuse([]string{"run", "--input", "sha256:" + strings.Repeat("0", 64), "--", "true"}, "there is no blob sha256:000")
	there.mustRefuse([]string{"run", "--input", "sha256:0", "--", "true"}, "is no digest")
	there.mustRefuse([]string{"run", "--input", store + "/sha256/" + strings.Repeat("0", 64), "--", "true"}, "there is no blob sha256:000")
	there.mustRefuse([]string{"run", "--input", store + "/data.csv", "--", "true"}, "names no digest", "give the file")
	for _, another := range []string{"s3://another/some%20where", "s3://bucket", store + "/below", "file:///another", "file:///"} {
		there.mustRefuse([]string{"run", "--input", another + "/sha256/" + r.output("out").SHA256, "--", "true"}, "does not lie in the blob store "+store+";", "--blobs")
	}
	there.mustRun("gc")
	path := blob(r.output("out").SHA256)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("an outpUt\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	there.mustRefuse([]string{"run", "--input", digest, "--", "true"}, "corrupt")
	there.mustRefuse([]string{"run", "--input", url, "--", "true"}, "corrupt")
}

// A worker with only the catalog and the bucket uses an output of another worker by the URL of its blob; submit refuses
// a blob that no worker would find.
func TestQueueInputByURL(t *testing.T) {
	h, db := inQueue(t)
	b := newBucket(t)
	b.configure(h)
	first := h.worker("--class", "first")
	made := h.submit("made", "echo an output >out", "--class", "first")
	h.comes(db, made, "complete")
	first.end()

	url := b.store() + "/sha256/" + h.show(made).output("out").SHA256
	h.mustRefuse([]string{"submit", "--input", strings.Replace(url, "//bucket/", "//another/", 1), "--", "true"}, "does not lie in the blob store "+b.store())
	h.mustRefuse([]string{"submit", "--input", b.store() + "/sha256/" + strings.Repeat("0", 64), "--", "true"}, "is not in the blob store "+b.store())
	taken := h.submit("taken", "cat /inputs/name", "--input", url+":name")
	another := db.query(t, "", `SELECT scidex_oci.submit('{"id": "`+h.id("another")+`", "command": ["true"], "inputs": ["file:///etc/sha256/`+strings.Repeat("0", 64)+`"]}', 0)`)
	second := h.worker()
	h.comes(db, taken, "complete")
	if got := second.mustRun("logs", taken).stdout; got != "an output\n" {
		t.Errorf("it has read %q", got)
	}
	h.comes(db, another, "error")
	if r := h.show(another); !strings.Contains(r.Message, "does not lie in the blob store "+b.store()) {
		t.Errorf("%s", r.Message)
	}
	second.end()
}
