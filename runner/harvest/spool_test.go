package harvest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

func entryOf(i int) outputs.Entry {
	e := outputs.Entry{
		Path: fmt.Appendf(nil, "dir/\xff\n%07d", i), Size: int64(i), SHA256: fmt.Sprintf("%064x", i),
		MediaType: "text/plain", Mode: 0o640, Partial: i%3 == 0,
	}
	if i%5 == 0 {
		e = outputs.Entry{Path: e.Path, Rejected: outputs.Symlink, Detail: []byte("-> \x00\xfe")}
	}
	return e
}

// TestEntry has a value in each field: a new one must be in the spool too.
func TestEntry(t *testing.T) {
	whole := outputs.Entry{
		Path: []byte("a\xff\n"), Size: 1 << 40, SHA256: "00ff", MediaType: "text/csv", Mode: 0o777, Ingest: "7",
		Rejected: outputs.Hardlink, Detail: []byte("\x00"), Partial: true,
	}
	for i, v := 0, reflect.ValueOf(whole); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tested", v.Type().Field(i).Name)
		}
	}
	text := appendEntry(nil, whole)
	got, err := readEntry(bufio.NewReader(bytes.NewReader(text)))
	if err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("got %+v, %v", got, err)
	}
	for cut := range text {
		_, err := readEntry(bufio.NewReader(bytes.NewReader(text[:cut])))
		if want := cut == 0; err == nil || (err == io.EOF) != want { //nolint:errorlint // the catalog asks for the very value
			t.Errorf("of %d bytes: %v", cut, err)
		}
	}
}

// A spool gives back what was added, byte by byte, from memory and from its file.
func TestSpool(t *testing.T) {
	for _, n := range []int{0, 1, 100, 20_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			made := 0
			s := Spool{create: func() (*os.File, error) { made++; return os.CreateTemp(t.TempDir(), "") }}
			for i := range n {
				if err := s.add(entryOf(i)); err != nil {
					t.Fatal(err)
				}
				if len(s.memory) > 2*spoolMemory {
					t.Fatalf("%d bytes are in memory", len(s.memory))
				}
			}
			if err := s.end(); err != nil {
				t.Fatal(err)
			}
			next, err := s.Read()
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if e, err := next(); err != nil || !reflect.DeepEqual(e, entryOf(i)) {
					t.Fatalf("entry %d is %+v, %v", i, e, err)
				}
			}
			if _, err := next(); err != io.EOF { //nolint:errorlint // the catalog asks for the very value
				t.Errorf("after the last: %v", err)
			}
			if want := min(n/10_000, 1); made != want {
				t.Errorf("%d files were made, want %d", made, want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A spool whose file cannot be written says so, and is empty after forget.
func TestSpoolOnAFullDisk(t *testing.T) {
	s := Spool{create: func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_RDWR, 0) }}
	var err error
	for i := 0; err == nil && i < 20_000; i++ {
		err = s.add(entryOf(i))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("%v, want ENOSPC", err)
	}
	s.forget()
	next, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	if e, err := next(); err != io.EOF { //nolint:errorlint // the catalog asks for the very value
		t.Errorf("%+v, %v", e, err)
	}
}

// A spool that was cut short is an error and no end.
func TestSpoolCutShort(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := Spool{create: func() (*os.File, error) { return file, nil }}
	for i := range 20_000 {
		err = errors.Join(err, s.add(entryOf(i)))
	}
	if err = errors.Join(err, s.end()); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err == nil {
		err = file.Truncate(info.Size() - 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.Read()
	for err == nil {
		_, err = next()
	}
	if err == io.EOF { //nolint:errorlint // the catalog asks for the very value
		t.Error("a spool that was cut short ends as if it were whole")
	}
}
