package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/testhole"
	"github.com/scidex-ai/scidex-oci/spec"
)

// openAndScan opens inputs as a run with an id of its own does, where no place is out of bounds.
func openAndScan(t *testing.T, a spec.Analysis) (*inputSet, error) {
	t.Helper()
	open := opener{scan.Reader{}, nil, func() (*binds.Boundary, error) { return &binds.Boundary{}, nil }}
	set, err := open.open(a, a.Script)
	if err != nil {
		return nil, err
	}
	return set, set.scan(t.Context(), scan.Scanner{}, nil)
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
				inodetest.Try(t, err, set.close())
				return
			}
			if err == nil {
				t.Fatalf("taken: %v", set.close())
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestOwnPlacesArePrivate(t *testing.T) {
	r := &phase.Host{Root: "/root", Private: []string{"/else/catalog.db"}, Tmp: "/tmp/runs", Database: "postgres:///db"}
	h := private(r, 1234)
	if !slices.Equal(h.Private, []string{"/root", "/else/catalog.db"}) || h.Tmp != r.Tmp || h.Database != r.Database || h.UID != 1234 {
		t.Errorf("got %+v", h)
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
	defer set.close()
	if !set.hasData || set.hasDocs || set.script.inside != "/analysis/sub/s.py" {
		t.Errorf("got %+v, script %+v", set, set.script)
	}
	var destinations []string
	for _, in := range set.inputs {
		destinations = append(destinations, in.bind.Destination)
		if in.bind.Ino == 0 {
			t.Errorf("%s is bound without its inode", in.bind.Source)
		}
	}
	if got := strings.Join(destinations, " "); got != "/data /analysis /inputs/in" {
		t.Errorf("bound at %s", got)
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\nrest": "#!/bin/sh\n", "": "", "no newline": "no newline", strings.Repeat("x", 300): strings.Repeat("x", 256),
	} {
		path := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := firstLine(f); err != nil || got != want {
			t.Errorf("the first line of %.20q is %.20q (%v)", text, got, err)
		}
	}
}
