package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFillFollowsNoLink: neither a link in the output directory nor one in an input leads a copy elsewhere.
func TestFillFollowsNoLink(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, name := range []string{"host/file", "in/file", "out/file"} {
		put(t, filepath.Join(top, name), name)
	}
	if err := os.Symlink(filepath.Join(top, "host"), filepath.Join(top, "in/link")); err != nil {
		t.Fatal(err)
	}
	into := func(source, target string) bind { return bind{source: filepath.Join(top, source), target: target} }
	l := layout{out: &bind{source: filepath.Join(top, "out"), target: "/job"}}
	for name, binds := range map[string][]bind{
		"an input with a link":   {into("in", "/job/in")},
		"an input below another": {into("in", "/job/in"), into("in/file", "/job/in/link/file")},
		"an input that is none":  {into("none", "/job/in")},
	} {
		l.into = binds
		if _, err := l.fill(t.Context(), allow); err == nil {
			t.Errorf("%s is copied", name)
		}
		if names, err := os.ReadDir(filepath.Join(top, "out")); err != nil || len(names) != 1 {
			t.Errorf("%s: left %v, %v", name, names, err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "host"), filepath.Join(top, "out/link")); err != nil {
		t.Fatal(err)
	}
	l.into = []bind{into("in/file", "/job/link/file")}
	if _, err := l.fill(t.Context(), allow); err == nil {
		t.Error("a link in the output directory is followed")
	}
	if data, err := os.ReadFile(filepath.Join(top, "host/file")); string(data) != "host/file" {
		t.Errorf("the host's file has %q, %v", data, err)
	}
}

// TestFillRefuses: what could not be put back after the run is refused before it.
func TestFillRefuses(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	out := filepath.Join(top, "out")
	try(t, os.Mkdir(out, 0o755))
	foreign(t, top)
	if os.Geteuid() == 0 { // root works there as that user
		try(t, os.Chown(out, 0, 0))
	} else {
		try(t, os.Chmod(out, 0o555))
	}
	if _, err := (layout{out: &bind{source: out}}).fill(t.Context(), allow); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}
