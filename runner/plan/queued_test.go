package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

// What others than submit write into the queue is read as strictly as a manifest, and depends on no host's directory.
func TestBrought(t *testing.T) {
	t.Chdir(t.TempDir())
	for raw, want := range map[string]string{
		`{"command": ["true"], "memory": "64MiB"}`:                "",
		`{"command": ["true"], "warm": "auto"}`:                   "",
		`{"command": ["true"], "memroy": "64MiB"}`:                "memroy",
		`{"command": ["true"], "memory": "many"}`:                 "many",
		`{"command": "true"}`:                                     "command",
		`{"command": ["true"], "export": "/out"}`:                 "exports nothing",
		`{"script": "a.py"}`:                                      "begins with /",
		`{"command": ["true"], "data": "data"}`:                   "begins with /",
		`{"command": ["true"], "inputs": ["./x"]}`:                "begins with /",
		`{"command": ["true"], "rootfs": "./root"}`:               "begins with /",
		`{"command": ["true"], "runtime": "science"}`:             "begins with /",
		`{"script": "/a.py", "data": "/d", "docs": "none"}`:       "",
		`{"command": ["` + strings.Repeat("x", maxQueued) + `"]}`: "at most",
		`null`: "",
		`[]`:   "array",
		`{"command": ["true"]} {"command": ["false"]}`: "something follows",
		``: "EOF",
	} {
		a, err := ReadQueued(json.RawMessage(raw))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", raw, err)
		case want == "" && (a.Data != "/d" && a.Data != spec.None || a.Docs != spec.None):
			t.Errorf("%s: data %q and docs %q", raw, a.Data, a.Docs)
		}
	}
}
