package bounded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
)

func TestReadAll(t *testing.T) {
	for most, whole := range map[int64]bool{0: false, 4: false, 5: true, 6: true} {
		got, err := bounded.ReadAll(strings.NewReader("12345"), most)
		if whole != (err == nil) || whole != (string(got) == "12345") {
			t.Errorf("at most %d: %q, %v", most, got, err)
		}
	}
}

func TestUntil(t *testing.T) {
	over := errors.New("over")
	ctx, end := context.WithCancelCause(t.Context())
	r := bounded.Until(ctx, strings.NewReader("12345"))
	piece := make([]byte, 2)
	if n, err := r.Read(piece); n != 2 || err != nil {
		t.Errorf("before: %d, %v", n, err)
	}
	end(over)
	if n, err := r.Read(piece); n != 0 || !errors.Is(err, over) {
		t.Errorf("after: %d, %v", n, err)
	}
}

// A file that is too long, and one that cannot be read, are named in the error once.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "read " + path + ": it has more than 4B", filepath.Dir(path): "read " + filepath.Dir(path) + ": is a directory"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := bounded.ReadFile(f, 4); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The same part is kept, in whatever pieces a text is written.
func TestKeptPart(t *testing.T) {
	const text = "abcdefgh"
	for name, test := range map[string]struct {
		of   func() *bounded.Buffer
		want string
	}{
		"head":                  {func() *bounded.Buffer { return bounded.Head(5) }, "abcde"},
		"all by head":           {func() *bounded.Buffer { return bounded.Head(8) }, text},
		"nothing":               {func() *bounded.Buffer { return bounded.Head(0) }, ""},
		"tail":                  {func() *bounded.Buffer { return bounded.Tail(5) }, "defgh"},
		"all by tail":           {func() *bounded.Buffer { return bounded.Tail(9) }, text},
		"no tail":               {func() *bounded.Buffer { return bounded.Tail(0) }, ""},
		"from an offset":        {func() *bounded.Buffer { return bounded.From(3, 2) }, "de"},
		"from an offset on":     {func() *bounded.Buffer { return bounded.From(6, 5) }, "gh"},
		"from beyond the end":   {func() *bounded.Buffer { return bounded.From(100, 5) }, ""},
		"from the end":          {func() *bounded.Buffer { return bounded.From(8, 5) }, ""},
		"from the last of them": {func() *bounded.Buffer { return bounded.From(7, 1) }, "h"},
	} {
		for size := 1; size <= len(text); size++ {
			b := test.of()
			for from := 0; from < len(text); from += size {
				piece := text[from:min(from+size, len(text))]
				if n, err := b.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := b.String(); got != test.want || b.Total() != int64(len(text)) || b.Cut() != (test.want != text) {
				t.Errorf("%s, in pieces of %d: %q of %d, cut %v", name, size, got, b.Total(), b.Cut())
			}
		}
	}
}

func TestBytesIsACopy(t *testing.T) {
	b := bounded.Tail(3)
	_, _ = b.Write([]byte("abc"))
	was := b.Bytes()
	_, _ = b.Write([]byte("xyz"))
	if string(was) != "abc" || b.String() != "xyz" {
		t.Errorf("%q, then %q", was, b)
	}
}

func TestConcurrentWriters(t *testing.T) {
	for _, b := range []*bounded.Buffer{bounded.Head(3), bounded.Tail(3)} {
		var writers sync.WaitGroup
		for range 2 {
			writers.Go(func() {
				for range 1000 {
					_, _ = b.Write([]byte("abc"))
				}
			})
		}
		writers.Wait()
		if b.String() != "abc" || b.Total() != 6000 {
			t.Errorf("%q of %d", b, b.Total())
		}
	}
}
