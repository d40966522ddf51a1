package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// verdicts are what an attack program reports for each try: "ok", or the name of an error.
type verdicts map[string]string

// outside runs an attack program of testdata as the caller, without a sandbox: the control. If an attack fails there,
// its failure inside proves nothing.
func outside(t *testing.T, program string, args ...string) verdicts {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", append([]string{testdata(t, program)}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("control of %s: %v\n%s", program, err, stderrOf(err))
	}
	return decodeVerdicts(t, out)
}

// analysis runs a program of testdata as an analysis that can read all of testdata.
func (h *harness) analysis(program string, flags []string, args ...string) result {
	h.t.Helper()
	return h.start(slices.Concat([]string{"--id", h.newID()}, flags,
		[]string{"--project", testdata(h.t, "."), "--script", testdata(h.t, program)}, args)...)
}

// newID makes an id that this harness has not used.
func (h *harness) newID() string { return h.id(strings.TrimPrefix(newPrefix(), "e2e-")) }

func decodeVerdicts(t *testing.T, raw []byte) verdicts {
	t.Helper()
	var v verdicts
	if err := json.Unmarshal(raw, &v); err != nil || len(v) == 0 {
		t.Fatalf("no verdicts: %v: %q", err, raw)
	}
	return v
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// testdata returns the absolute path of a file of testdata.
func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// stdoutOf returns the standard output of a run, from the blob that is named by its digest.
func (h *harness) stdoutOf(r result) string {
	h.t.Helper()
	if r.Logs.Stdout.SHA256 == "" {
		return ""
	}
	return h.blob(r.Logs.Stdout.SHA256)
}

func (h *harness) stderrOf(r result) string {
	h.t.Helper()
	if r.Logs.Stderr.SHA256 == "" {
		return ""
	}
	return h.blob(r.Logs.Stderr.SHA256)
}

// blob reads the file of a blob directly.
func (h *harness) blob(digest string) string {
	h.t.Helper()
	return readFile(h.t, h.blobPath(digest))
}

func (h *harness) blobPath(digest string) string {
	return filepath.Join(h.root, "blobs", "sha256", digest)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// each checks every verdict, and that there is one for every name.
func (v verdicts) each(t *testing.T, want func(name, got string) (problem string)) {
	t.Helper()
	for name, got := range v {
		if problem := want(name, got); problem != "" {
			t.Errorf("%s: %s, %s", name, got, problem)
		}
	}
}

func unless(good bool, problem string) string {
	if good {
		return ""
	}
	return problem
}
