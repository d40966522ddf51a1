package streams

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/runner/inputs/stdin"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// newFeed makes a feed that keeps what it passes on in a store of the test.
func newFeed(t *testing.T, from io.Reader) *Feed {
	t.Helper()
	store, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ingest, err := store.NewIngest("x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ingest.Close() })
	f, err := NewFeed(ingest, from)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fed passes from on to an analysis that reads as read does and ends, and returns what is kept.
func fed(t *testing.T, from io.Reader, read func(*os.File)) (kept phase.KeptFile, run, closed error) {
	t.Helper()
	f := newFeed(t, from)
	ended, ran := make(chan struct{}), make(chan error)
	go func() { ran <- f.Run(ended) }()
	read(f.Analysis())
	close(ended)
	if run = <-ran; run == nil {
		run = f.ReturnUnread()
	}
	kept = *f.Kept()
	return kept, run, errors.Join(f.Close(), f.Close())
}

func nothing(*os.File) {}

func all(from *os.File) { _, _ = io.Copy(io.Discard, from) }

func some(n int) func(*os.File) {
	return func(from *os.File) { _, _ = io.ReadFull(from, make([]byte, n)) }
}

// blocked is a pipe with a few bytes that is never closed.
func blocked(t *testing.T, text string) io.Reader {
	t.Helper()
	read, write, err := os.Pipe()
	if err == nil {
		_, err = write.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { write.Close(); read.Close() })
	return read
}

func TestFeedKeepsWhatWasRead(t *testing.T) {
	long := strings.Repeat("0123456789", 100_000)
	for name, c := range map[string]struct {
		from io.Reader
		read func(*os.File)
		want int64
	}{
		"all of a pipe":          {io.MultiReader(strings.NewReader(long)), all, 1_000_000},
		"all of a file":          {strings.NewReader(long), all, 1_000_000},
		"a part of a pipe":       {io.MultiReader(strings.NewReader(long)), some(100_001), 100_001},
		"a part of a file":       {strings.NewReader(long), some(7), 7},
		"nothing of a pipe":      {io.MultiReader(strings.NewReader(long)), nothing, 0},
		"a part of an idle pipe": {blocked(t, "0123"), some(3), 3},
		"nothing comes":          {blocked(t, ""), nothing, 0},
	} {
		t.Run(name, func(t *testing.T) {
			kept, run, closed := fed(t, c.from, c.read)
			if run != nil || closed != nil || kept.Kept != c.want || kept.Total != c.want {
				t.Fatalf("%+v, %v, %v; want %d bytes", kept, run, closed, c.want)
			}
			if want := digestOf(long[:c.want]); kept.SHA256 != want {
				t.Errorf("%s, want %s", kept.SHA256, want)
			}
			if file, ok := c.from.(*strings.Reader); ok && int64(file.Len()) != 1_000_000-c.want {
				t.Errorf("%d bytes are left", file.Len())
			}
		})
	}
}

func digestOf(text string) string {
	if text == "" {
		return "" // nothing is kept
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestFeedThatIsKnown(t *testing.T) {
	known, err := stdin.Read(t.Context(), strings.NewReader("known"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	for _, read := range []func(*os.File){nothing, some(2), all} {
		kept, run, closed := fed(t, known, read)
		if run != nil || closed != nil || kept.Kept != 5 || kept.SHA256 != digestOf("known") {
			t.Errorf("%+v, %v, %v", kept, run, closed)
		}
	}
}

// TestFeedFails: the analysis, which waits for more, is not told that this was all.
func TestFeedFails(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		from io.Reader
		want error
	}{
		"too much":      {io.LimitReader(endless{}, stdin.Max+1), stdin.ErrTooMuch},
		"unreadable":    {io.MultiReader(strings.NewReader("x"), failing{broken}), broken},
		"just not more": {io.LimitReader(endless{}, stdin.Max), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(t, c.from)
			ended := make(chan struct{})
			defer close(ended)
			go all(f.Analysis())
			if err := f.Run(ended); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{'y'}, len(p))), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
