package runner

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/breach"
	"github.com/scidex-ai/scidex-oci/spec"
)

// tree makes files (names ending in / are directories) below a fresh directory that everyone may read.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

// openAndScan opens inputs as a run with an id of its own does, where no place is out of bounds.
func openAndScan(t *testing.T, a spec.Analysis) (*inputSet, error) {
	t.Helper()
	open := opener{reader{}, func() (*boundary, error) { return newBoundary(nil, nil, slog.New(slog.DiscardHandler)) }}
	set, err := open.open(a, a.Script)
	if err != nil {
		return nil, err
	}
	return set, set.scan(t.Context(), scanner{}, nil)
}

func TestOpenInputsRefuses(t *testing.T) {
	dir := tree(t, "file", "good/a", "sock/deep/", "fifo/x/", "other/s.py")
	// A short path: the name of a unix socket has 108 bytes at most (unix(7)).
	t.Chdir(filepath.Join(dir, "sock/deep"))
	listen(t, "s")
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
			if hole := breach.Open && (slices.Contains(c.want, "unix socket") || slices.Contains(c.want, "FIFO")); hole {
				try(t, err, set.close())
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

func TestOpenInputs(t *testing.T) {
	dir := tree(t, "data/a", "project/sub/s.py", "in")
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

func TestMayRead(t *testing.T) {
	for name, c := range map[string]struct {
		mode   uint32
		reader reader
		want   string // part of the error; empty: readable
	}{
		"directory for all":             {unix.S_IFDIR | 0o755, reader{}, ""},
		"directory for its owner":       {unix.S_IFDIR | 0o700, reader{}, "--ids self"},
		"directory without search":      {unix.S_IFDIR | 0o744, reader{}, "chmod o+rx"},
		"file for all":                  {unix.S_IFREG | 0o644, reader{}, ""},
		"file for the group":            {unix.S_IFREG | 0o640, reader{}, "chmod o+r)"},
		"the caller's own id":           {unix.S_IFDIR | 0o700, reader{own: true}, ""},
		"root has no --ids self to use": {unix.S_IFDIR | 0o700, reader{root: true}, "chmod o+rx)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.reader.mayRead(&unix.Stat_t{Mode: c.mode})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.reader.root && strings.Contains(err.Error(), "--ids self") {
				t.Errorf("root is told of --ids self: %v", err)
			}
		})
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
