package outputs

import (
	"slices"
	"strings"
	"testing"
)

func TestDeclared(t *testing.T) {
	for _, tc := range []struct {
		glob, path string
		want       bool
	}{
		{"summary.csv", "summary.csv", true},
		{"summary.csv", "sub/summary.csv", false},
		{"./summary.csv", "summary.csv", true},
		{"**/*.csv", "summary.csv", true},
		{"**/*.csv", "a/b/c.csv", true},
		{"*.csv", "a/c.csv", false},
		{"plots/", "plots/one.svg", true},
		{"plots/", "other/one.svg", false},
		{"plots/**", "plots/a/b.svg", true},
		{"{a,b}.txt", "b.txt", true},
		{"[ab].txt", "c.txt", false},
		{"?.txt", "\xff.txt", true},
	} {
		d, err := NewDeclared([]string{tc.glob})
		must(t, err)
		if got := d.Missing(); !slices.Equal(got, []string{tc.glob}) {
			t.Errorf("%+v: missing %q before anything was seen", tc, got)
		}
		d.Seen([]byte(tc.path))
		d.Seen([]byte(tc.path))
		if got := len(d.Missing()) == 0; got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func TestDeclaredReportsEachGlob(t *testing.T) {
	d, err := NewDeclared([]string{"a", "b", "*"})
	must(t, err)
	d.Seen([]byte("b"))
	if got := d.Missing(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"[", "{a", "", "/"} {
		if _, err := NewDeclared([]string{"a", bad}); err == nil || !strings.Contains(err.Error(), "not a glob") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMediaType(t *testing.T) {
	for _, tc := range []struct{ path, head, want string }{
		{"a.csv", "", "text/csv"},
		{"A.CSV", "x", "text/csv"},
		{"x.tar/readme", "hello\n", "text/plain"},
		{"noext", "\x89PNG\r\n\x1a\n", "image/png"},
		{"noext", "%PDF-1.7", "application/pdf"},
		{"wrong.png", "%PDF-1.7", "image/png"},
		{".csv", "hello", "text/plain"},
		{"d.npy", "\x93NUMPY", "application/x-npy"},
		{"d.parquet", "PAR1", "application/vnd.apache.parquet"},
		{"empty", "", unknownType},
		{"bin", "\x00\x01\x02\x03", unknownType},
		{"noext", `{"rows": [1, 2]}`, "text/plain"}, // recognised only by parsing
		{"noext", "1,2\n3,4\n", "text/plain"},
		{"noext", `{\rtf1\ansi}`, "text/rtf"},
		{"noext", " <?xml version=\"1.0\"?><a/>", "text/xml"},
		{"noext", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "image/svg+xml"},
		{"noext", "#!/bin/sh\n", "text/x-shellscript"},
		{"noext", "gr\u00fc\u00df dich", "text/plain"},
		{"split", strings.Repeat("x", headBytes-1) + "\u00fc"[:1], "text/plain"},
		{"latin1", "gr\xfc\xdf dich", "text/plain"},
		{"a/b.json", "{", "application/json"},
	} {
		if got := mediaType([]byte(tc.path), []byte(tc.head)); got != tc.want {
			t.Errorf("%+v: got %s", tc, got)
		}
	}
}

func FuzzMediaType(f *testing.F) {
	f.Add("a", []byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, path string, head []byte) {
		if got := mediaType([]byte(path), head); got == "" || strings.ContainsAny(got, " ;\n") {
			t.Errorf("%q", got)
		}
	})
}
