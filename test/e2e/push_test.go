package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	godigest "github.com/opencontainers/go-digest"
)

// TestOutputsPush: another client pulls what was pushed, and with the statement that refers to it the directory verifies, without a catalog.
func TestOutputsPush(t *testing.T) {
	s := newRegistrySite(t)
	key := s.newKey("key")
	id := s.harness.newID()
	s.mustRun("run", "--id", id, "--limits", "best-effort", "--data=none", "--docs=none", "--", "sh", "-c", `echo one >one.txt; mkdir "d e"; echo two >"d e/two, 2.txt"; : >none; echo mine >scidex-result.json`)
	s.mustRefuse([]string{"outputs", "push", id, "fit:1"}, "names no registry")
	s.mustRefuse([]string{"outputs", "push", id}, "1 argument; give ID REF")
	var said struct {
		Reference, Statement string
		Digest               godigest.Digest
		Outputs              int
	}
	out := s.mustRun("outputs", "push", id, s.Address+"/outputs/fit:1", "--json")
	if err := json.Unmarshal([]byte(out.stdout), &said); err != nil {
		t.Fatalf("%v: %s", err, out.stdout)
	}
	if !strings.Contains(out.stderr, "is not written, because scidex-oci writes a file of that name") {
		t.Errorf("of the output at the place of the result it says %q", out.stderr)
	}
	if said.Outputs != 3 || said.Statement == "" || !strings.HasSuffix(said.Reference, "/outputs/fit:1@"+said.Digest.String()) {
		t.Errorf("%+v", said)
	}
	dir := t.TempDir()
	if got := s.server.Pull(t, "outputs/fit", "1", dir); got.Digest != said.Digest {
		t.Errorf("pulled %s, pushed %s", got.Digest, said.Digest)
	}
	if got := readFile(t, filepath.Join(dir, "d e/two, 2.txt")); got != "two\n" {
		t.Errorf("%q", got)
	}
	s.expectNotVerified(dir, key, "scidex-statement.jsonl")
	if found := s.server.Referrers(t, "outputs/fit", said.Digest); len(found) != 1 || found[0].Digest.String() != said.Statement {
		t.Fatalf("what refers to it is %v", found)
	}
	s.server.Pull(t, "outputs/fit", said.Statement, dir)
	s.expectVerifiedHere(dir, key)
	if err := os.WriteFile(filepath.Join(dir, "one.txt"), []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.expectNotVerified(dir, key, "one.txt")
}
