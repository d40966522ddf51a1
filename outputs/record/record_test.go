package record

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

type head struct {
	V       int
	Catalog string
}

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
	var got head
	if err := Keep(path, head{V: 1, Catalog: "c"}, listing("a", "b\n\xff")); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, &got)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	err = r.Each(func(e outputs.Entry) { paths = append(paths, string(e.Path)) })
	if err != nil || got.Catalog != "c" || len(paths) != 2 || paths[1] != "b\n\xff" {
		t.Errorf("head %+v, entries %q, %v", got, paths, err)
	}
	r.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, &got); !errors.Is(err, ErrDamaged) {
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

// TestNewerRecord: a record of a later form is not taken for a damaged one.
func TestNewerRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	if err := Keep(path, head{V: 2, Catalog: "c"}, listing("a")); err != nil {
		t.Fatal(err)
	}
	_, opened := Open(path, &head{})
	for name, err := range map[string]error{"Open": opened, "Peek": Peek(path, &head{})} {
		if !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestRecordThatCannotBeWritten leaves nothing under its name.
func TestRecordThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	broken := errors.New("broken")
	err := Keep(path, head{}, func() (outputs.Entry, error) { return outputs.Entry{}, broken })
	if left, _ := filepath.Glob(path + "*"); !errors.Is(err, broken) || len(left) > 0 {
		t.Errorf("error %v, left %q", err, left)
	}
}

// TestKeepFirst: of many that write one record at once, one gets the name, and the files of the others are removed.
func TestKeepFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	errs := make(chan error)
	for i := range 16 {
		go func() { errs <- KeepFirst(path, head{V: 1, Catalog: strconv.Itoa(i)}, listing("a")) }()
	}
	won := 0
	for range 16 {
		switch err := <-errs; {
		case err == nil:
			won++
		case !errors.Is(err, fs.ErrExist):
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(path + "*"); won != 1 || len(left) != 1 {
		t.Errorf("%d have given the name, left %q", won, left)
	}
	if r, err := Open(path, &head{}); err != nil {
		t.Error(err)
	} else {
		r.Close()
	}
}

func TestRecordsAreDurable(t *testing.T) {
	dir := t.TempDir()
	durable.Check(t, func() error { return Keep(filepath.Join(dir, "made", "one"), head{V: 1}, listing("a")) })
	durable.Check(t, func() error { return KeepFirst(filepath.Join(dir, "first"), head{V: 1}, listing("a")) })
}
