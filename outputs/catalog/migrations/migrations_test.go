package migrations

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
)

// Versions count up from 1 without a gap, so that "version 3" means the third file.
func TestVersionsAreConsecutive(t *testing.T) {
	for name, dialect := range map[string]func() (fs.FS, error){"sqlite": SQLite, "postgres": Postgres} {
		t.Run(name, func(t *testing.T) {
			fsys, err := dialect()
			if err != nil {
				t.Fatal(err)
			}
			names, err := fs.Glob(fsys, "*.sql")
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range names {
				if want := fmt.Sprintf("%05d_", i+1); name[:6] != want {
					t.Errorf("migration %q: want a name that begins with %q", name, want)
				}
			}
			latest, err := Latest(fsys)
			if err != nil || latest != int64(len(names)) {
				t.Errorf("Latest = %d, %v, want %d", latest, err, len(names))
			}
		})
	}
}

func TestLatest(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  int64
		ok    bool
	}{
		{"one", []string{"00001_initial.sql"}, 1, true},
		{"beyond nine", []string{"00009_a.sql", "00010_b.sql", "README.md"}, 10, true},
		{"none", []string{"README.md"}, 0, false},
		{"no number", []string{"initial.sql"}, 0, false},
		{"zero", []string{"00000_initial.sql"}, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for _, name := range tt.files {
				fsys[name] = &fstest.MapFile{}
			}
			got, err := Latest(fsys)
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("Latest(%q) = %d, %v, want %d, ok = %v", tt.files, got, err, tt.want, tt.ok)
			}
		})
	}
}
