package deliver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// exported is a host with a run that has two outputs.
func exported(t *testing.T) (*phase.Host, catalog.Run) {
	t.Helper()
	return exportedOf(t, "a.txt", "dir/b.txt")
}

// exportedOf is a host with a run that has these outputs, in their order.
func exportedOf(t *testing.T, paths ...string) (*phase.Host, catalog.Run) {
	t.Helper()
	cat, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cat.Close() })
	blobs, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []outputs.Entry
	for _, path := range paths {
		content := "content of " + path
		sum := sha256.Sum256([]byte(content))
		digest := hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(blobs.Dir(), "sha256", digest), []byte(content), 0o400); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, outputs.Entry{Path: []byte(path), Size: int64(len(content)), SHA256: digest, Mode: 0o644})
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	run := catalog.Run{Key: catalog.Key{ID: "run", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: now}
	if err := cat.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	run.State, run.FinishedAt = outcome.Complete, now
	err = cat.Commit(t.Context(), run, func() (outputs.Entry, error) {
		if len(entries) == 0 {
			return outputs.Entry{}, io.EOF
		}
		next := entries[0]
		entries = entries[1:]
		return next, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err = cat.Get(t.Context(), run.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &phase.Host{Catalog: cat, Blobs: blobs, Root: t.TempDir(), Tmp: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, run
}

// tree are the files below a directory.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// exportBelow is Below.Export to a directory that is opened for it.
func exportBelow(t *testing.T, host *phase.Host, run catalog.Run, dir string, overwrite bool) (wrote bool, err error) {
	t.Helper()
	b, err := OpenBelow(dir, overwrite)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	wrote, _, err = b.Export(t.Context(), host, run)
	return wrote, err
}

// TestExportIntoAnExchangedDirectory: a directory that is exchanged after it was named is not written to, and nothing in it is removed.
func TestExportIntoAnExchangedDirectory(t *testing.T) {
	host, run := exported(t)
	for name, export := range map[string]func(dir string) (do func() error, end func() error){
		"of one run": func(dir string) (func() error, func() error) {
			to, err := outputs.OpenTarget(dir, false)
			if err != nil {
				t.Fatal(err)
			}
			return func() error { _, err := Export(t.Context(), host, run, to); return err }, to.Close
		},
		"of many": func(dir string) (func() error, func() error) {
			b, err := OpenBelow(dir, false)
			if err != nil {
				t.Fatal(err)
			}
			return func() error { _, _, err := b.Export(t.Context(), host, run); return err }, b.Close
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir, moved, victim := mkdir(t, filepath.Join(top, "out")), filepath.Join(top, "moved"), mkdir(t, filepath.Join(top, "victim"))
			kept := filepath.Join(mkdir(t, filepath.Join(victim, unfinished+"run")), "file")
			if err := os.WriteFile(kept, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			do, end := export(dir)
			if err := errors.Join(os.Rename(dir, moved), os.Symlink(victim, dir)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(do(), end()); err != nil {
				t.Fatal(err)
			}
			if got := tree(t, victim); !slices.Equal(got, []string{unfinished + "run/file"}) {
				t.Errorf("the other directory has %q", got)
			}
			if got := tree(t, moved); len(got) != len(whole) {
				t.Errorf("%q", got)
			}
		})
	}
}

var whole = []string{"run/a.txt", "run/dir/b.txt", "run/scidex-result.json"}

func TestExportBelow(t *testing.T) {
	host, run := exported(t)
	write := func(path, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			path := filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	export := func(t *testing.T, dir string) {
		t.Helper()
		if wrote, err := exportBelow(t, host, run, dir, false); err != nil || !wrote {
			t.Fatal(wrote, err)
		}
	}
	after := func(all ...func(t *testing.T, dir string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			for _, do := range all {
				do(t, dir)
			}
		}
	}
	for _, tt := range []struct {
		name      string
		before    func(t *testing.T, dir string)
		overwrite bool
		wrote     bool
		refused   string
		want      []string
	}{
		{name: "new", before: after(), wrote: true, want: whole},
		{name: "empty", before: func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, "run"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, wrote: true, want: whole},
		{name: "there already", before: export, want: whole},
		{name: "of a killed export", before: after(write(unfinished+"run/a.txt", "cont"), write(unfinished+"run/x/y", "")), wrote: true, want: whole},
		{name: "with another file", before: write("run/notes", ""), refused: "has not run \"run@1\" whole; move it away, or use --overwrite", want: []string{"run/notes"}},
		{name: "overwritten", before: write("run/a.txt", "mine"), overwrite: true, wrote: true, want: whole},
		{name: "of another attempt", before: after(export, write("run/scidex-result.json", `{"id":"run","attempt":2}`)), refused: "has not run", want: whole},
		{name: "with a file changed since", before: after(export, write("run/dir/b.txt", "x")), refused: "has not run", want: whole},
		{name: "with a file removed since", before: after(export, func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "run/a.txt")); err != nil {
				t.Fatal(err)
			}
		}), overwrite: true, wrote: true, want: whole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			tt.before(t, dir)
			wrote, err := exportBelow(t, host, run, dir, tt.overwrite)
			if wrote != tt.wrote || (err != nil) != (tt.refused != "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%v, %v", wrote, err)
			}
			if got := tree(t, dir); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "run/a.txt")); tt.wrote && (err != nil || string(text) != "content of a.txt") {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// What another process writes stays as it is, and a damaged blob leaves nothing.
func TestExportBelowLeavesNothing(t *testing.T) {
	host, run := exported(t)
	dir := t.TempDir()
	beside := filepath.Join(dir, unfinished+"run")
	if err := os.WriteFile(filepath.Join(mkdir(t, beside), "part"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(beside)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := exportBelow(t, host, run, dir, false); err == nil || !strings.Contains(err.Error(), "another process writes it now") {
		t.Error(err)
	}
	if got := tree(t, dir); !slices.Equal(got, []string{unfinished + "run/part"}) {
		t.Errorf("%q", got)
	}
	f.Close()
	entry, err := host.Catalog.Output(t.Context(), run.Key, []byte("dir/b.txt"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := host.Blobs.Path(entry.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := exportBelow(t, host, run, dir, false); err == nil {
		t.Error("a blob is missing, and the run was exported")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
