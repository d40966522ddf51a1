package trials

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/view"
)

// A refusal proves nothing where the source was changed meanwhile.
func TestUnchanged(t *testing.T) {
	dir := t.TempDir()
	in := view.NewInput(dir, "/data")
	said := got("create", "EROFS", "mkdir", "EROFS", "chmod", "EROFS")
	p := unchanged(in, "write", canary.Attempt{At: "/data"}, "create", "mkdir", "chmod")
	if result, detail := p.Judge(said); result != judge.Pass {
		t.Errorf("%s, %s", result, detail)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if result, detail := p.Judge(said); result != judge.Inconclusive {
		t.Errorf("%s, %s; want nothing proven where the directory has changed", result, detail)
	}
}
