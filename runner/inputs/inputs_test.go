package inputs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/testhole"
	"github.com/scidex-ai/scidex-oci/spec"
)

// openAndScan opens inputs as a run with an id of its own does, without anything that must not be bound.
func openAndScan(t *testing.T, a spec.Analysis) (*Set, error) {
	t.Helper()
	open := Opener{scan.Reader{}, nil, func() (*binds.Boundary, error) { return &binds.Boundary{}, nil }}
	set, err := open.Open(a, a.Script)
	if err != nil {
		return nil, err
	}
	return set, set.Scan(t.Context(), scan.Scanner{}, nil)
}

func TestOpenInputsRefuses(t *testing.T) {
	dir := inodetest.Tree(t, "file", "good/a", "sock/deep/", "fifo/x/", "other/s.py")
	// A short path: the name of a unix socket has 108 bytes at most (unix(7)).
	t.Chdir(filepath.Join(dir, "sock/deep"))
	inodetest.Listen(t, "s")
	if err := unix.Mkfifo(filepath.Join(dir, "fifo/x/f"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		analysis spec.Analysis
		want     []string
	}{
		"missing":               {spec.Analysis{Data: dir + "/none"}, []string{"--data", "does not exist"}},
		"a file":                {spec.Analysis{Docs: dir + "/file"}, []string{"--docs", "is a file", "give a directory"}},
		"a socket deep inside":  {spec.Analysis{Data: dir + "/sock"}, []string{"--data", "unix socket", `"deep/s"`}},
		"a FIFO in an input":    {spec.Analysis{Inputs: []string{dir + "/fifo"}}, []string{"--input", "FIFO", `"x/f"`}},
		"a device as input":     {spec.Analysis{Inputs: []string{"/dev/null:/inputs/n"}}, []string{"is a device"}},
		"a missing script":      {spec.Analysis{Script: dir + "/none.py"}, []string{"--script", "does not exist"}},
		"a directory as script": {spec.Analysis{Script: dir + "/good"}, []string{"--script", "regular file"}},
		"a script elsewhere":    {spec.Analysis{Script: dir + "/other/s.py", Project: dir + "/good"}, []string{"not inside --project"}},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := openAndScan(t, c.analysis)
			if hole := testhole.Open && (slices.Contains(c.want, "unix socket") || slices.Contains(c.want, "FIFO")); hole {
				inodetest.Try(t, err, set.Close())
				return
			}
			if err == nil {
				t.Fatalf("taken: %v", set.Close())
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestOpenInputs(t *testing.T) {
	dir := inodetest.Tree(t, "data/a", "project/sub/s.py", "in")
	a := spec.Analysis{
		Data: dir + "/data", Docs: spec.None, Project: dir + "/project", Script: dir + "/project/sub/s.py",
		Inputs: []string{dir + "/in"},
	}
	set, err := openAndScan(t, a)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if !set.HasData || set.HasDocs || set.Script.Inside != "/analysis/sub/s.py" {
		t.Errorf("got %+v, script %+v", set, set.Script)
	}
	var destinations []string
	for _, in := range set.Inputs {
		destinations = append(destinations, in.Bind.Destination)
		if in.Bind.Ino == 0 {
			t.Errorf("%s is bound without its inode", in.Bind.Source)
		}
	}
	if got := strings.Join(destinations, " "); got != "/data /analysis /inputs/in" {
		t.Errorf("bound at %s", got)
	}
}
