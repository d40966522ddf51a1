package mcp

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// TestWindow: a part is cut between characters, and read on from its end it has all of the text once.
func TestWindow(t *testing.T) {
	const written = "aé€😀b\n"
	for length := 4; length < len(written)+2; length++ {
		for size := 1; size <= len(written); size++ {
			write := func(w *window) logPart {
				for from := 0; from < len(written); from += size {
					if _, err := w.Write([]byte(written[from:min(from+size, len(written))])); err != nil {
						t.Fatal(err)
					}
				}
				return w.part()
			}
			all := ""
			for next := int64(0); next < int64(len(written)); {
				p := write(at(next, length))
				if p.Offset != next || p.Next <= next || p.Total != int64(len(written)) {
					t.Fatalf("length %d: %+v after %d", length, p, next)
				}
				all, next = all+p.Text, p.Next
			}
			if all != written {
				t.Errorf("length %d in writes of %d: %q", length, size, all)
			}
			if p := write(tail(length)); !strings.HasSuffix(written, p.Text) || p.Next != int64(len(written)) || int(p.Next-p.Offset) != len(p.Text) || len(p.Text) > length {
				t.Errorf("tail of %d in writes of %d: %+v", length, size, p)
			}
		}
	}
	if p := at(100, 5).part(); p != (logPart{}) {
		t.Errorf("beyond the end: %+v", p)
	}
}

// TestHostileText: what a terminal might act on is visible, line ends and tabs stay.
func TestHostileText(t *testing.T) {
	w := at(0, 100)
	if _, err := w.Write([]byte("a\x1b]0;x\x07\t\xff\r\nb\rc\u202e\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := w.part().Text, "a\\x1b]0;x\\x07\t\\xff\r\nb\\rc\\u202e\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRows(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		last bool
		want string
	}{
		{"a,b\n1,2\n3,4\n", 2, true, "a,b\n1,2\n"},
		{"a,b\n1,2\n3,4\n", 9, true, "a,b\n1,2\n3,4\n"},
		{"a,b\n1,2\n3,", 9, false, "a,b\n1,2\n"},
		{"a,b\n1,2\n3,", 9, true, "a,b\n1,2\n3,"},
		{"a,\"x\ny\"\n1,2\n", 1, true, "a,\"x\ny\"\n"},
		{"a,\"x", 1, false, "a,\"x"},
		{"a,b\r\n1,2\r\n", 1, true, "a,b\r\n"},
		{"", 1, true, ""},
	} {
		if got := string(rows([]byte(test.text), ',', test.most, test.last)); got != test.want {
			t.Errorf("%d rows of %q: %q, want %q", test.most, test.text, got, test.want)
		}
	}
}

// TestURI: each path comes back from its URI.
func TestURI(t *testing.T) {
	for _, path := range []string{"a.png", "plots/one two.png", "a%2Fb", "../x", "é?#&=+.csv", "a{b}"} {
		run, sha256, got, ok := parseURI(outputURI("r-1@2", result.Output{Path: path, SHA256: "abc"}))
		if run != "r-1@2" || sha256 != "abc" || got != path || !ok {
			t.Errorf("%q: %q %q %q %v", path, run, sha256, got, ok)
		}
	}
	for _, bad := range []string{"", "file:///etc/passwd", outputScheme, outputScheme + "a/b/c/d", outputScheme + "a/outputs/x", outputScheme + "a/outputs/x/%zz"} {
		if _, _, _, ok := parseURI(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestSafeType: no client is told that an output is something that it might execute.
func TestSafeType(t *testing.T) {
	for given, want := range map[string]string{
		"image/png": "image/png", "text/csv": "text/csv", "application/json": "application/json",
		"image/svg+xml": "text/plain", "text/html": "text/plain", "application/xhtml+xml": "application/octet-stream", "application/pdf": "application/octet-stream", "": "application/octet-stream",
	} {
		if got := safeType(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}
