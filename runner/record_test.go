package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

func listing(paths ...string) func() (outputs.Entry, error) {
	return func() (outputs.Entry, error) {
		if len(paths) == 0 {
			return outputs.Entry{}, io.EOF
		}
		entry := outputs.Entry{Path: []byte(paths[0])}
		paths = paths[1:]
		return entry, nil
	}
}

// TestRecord damages a record at every byte and cuts it at every length.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "record")
	var got outcome
	if err := keepRecord(path, outcome{V: 1, Catalog: "c"}, listing("a", "b\n\xff")); err != nil {
		t.Fatal(err)
	}
	r, err := openRecord(path, &got)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	err = r.each(func(e outputs.Entry) { paths = append(paths, string(e.Path)) })
	if err != nil || got.Catalog != "c" || len(paths) != 2 || paths[1] != "b\n\xff" {
		t.Errorf("head %+v, entries %q, %v", got, paths, err)
	}
	r.close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openRecord(path, &got); !errors.Is(err, errDamaged) {
			t.Fatalf("a damaged record: %v: %q", err, content)
		}
	}
	for i := range whole {
		try(whole[:i])
		whole[i] ^= 1
		try(whole)
		whole[i] ^= 1
	}
	try(append(whole, '\n'))
}

// TestRecordThatCannotBeWritten leaves nothing under its name.
func TestRecordThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	broken := errors.New("broken")
	err := keepRecord(path, outcome{}, func() (outputs.Entry, error) { return outputs.Entry{}, broken })
	if left, _ := filepath.Glob(path + "*"); !errors.Is(err, broken) || len(left) > 0 {
		t.Errorf("error %v, left %q", err, left)
	}
}

func TestInsist(t *testing.T) {
	final := errors.New("final")
	passing := catalog.Passing(errors.New("passing"))
	for _, tt := range []struct {
		name     string
		patience time.Duration
		answers  []error
		want     error
	}{
		{"at once", time.Hour, []error{nil}, nil},
		{"what passes", time.Hour, []error{passing, passing, nil}, nil},
		{"what does not", time.Hour, []error{passing, final, nil}, final},
		{"no patience", 0, []error{passing, nil}, passing},
	} {
		calls := 0
		err := insist(t.Context(), tt.patience, func() error { calls++; return tt.answers[calls-1] })
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err := insist(ctx, time.Hour, func() error { cancel(final); return passing })
	if !errors.Is(err, final) {
		t.Errorf("given up: %v", err)
	}
}
