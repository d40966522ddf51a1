package inputs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

// TestOpenForAnotherUser: a link of another user shows an analysis of root's nothing that this user does not reach.
func TestOpenForAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root reaches more than the user")
	}
	top := t.TempDir()
	foreign, private := filepath.Join(top, "foreign"), filepath.Join(top, "private")
	if err := errors.Join(os.Chmod(filepath.Dir(top), 0o755), os.Chmod(top, 0o755), os.Mkdir(private, 0o700), os.Mkdir(private+"/data", 0o755),
		os.WriteFile(private+"/script.py", nil, 0o644), os.Mkdir(foreign, 0o755), os.Mkdir(foreign+"/own", 0o755), os.WriteFile(foreign+"/own.py", nil, 0o644),
		os.Symlink(private+"/data", foreign+"/data"), os.Symlink(private+"/script.py", foreign+"/script.py"), os.Chown(foreign, 54321, 54321)); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]spec.Analysis{
		"data": {Data: foreign + "/data"}, "docs": {Docs: foreign + "/data"}, "project": {Project: foreign + "/data"},
		"input": {Inputs: []string{foreign + "/data"}}, "file": {Inputs: []string{foreign + "/script.py"}}, "script": {Script: foreign + "/script.py"},
	} {
		set, err := openAndScan(t, a)
		if err == nil || !strings.Contains(err.Error(), "uid 54321") {
			t.Errorf("%s: %v", name, err)
		}
		if set != nil {
			set.Close()
		}
	}
	set, err := openAndScan(t, spec.Analysis{Data: foreign + "/own", Script: foreign + "/own.py"})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}
