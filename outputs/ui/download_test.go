package ui

import (
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// TestDownload: an answer is an attachment with the file's exact bytes, whatever its type.
func TestDownload(t *testing.T) {
	s := started(t, seeded(t))
	links := links{s, catalog.Key{ID: "done", Attempt: 1}}
	for _, tt := range []struct{ path, content, disposition string }{
		{"a/page.html", "<script>alert(1)</script>", `attachment; filename="page.html"; filename*=UTF-8''page.html`},
		{"\xff\n.txt", "bytes", `attachment; filename="_xff_n.txt"; filename*=UTF-8''_xff_n.txt`},
	} {
		got := ask(t, s, http.MethodGet, links.Output(result.Output{Path: tt.path}), "")
		if got.status != http.StatusOK || got.body != tt.content {
			t.Errorf("%q: %s", tt.path, got)
		}
		for header, want := range map[string]string{
			"Content-Type": "application/octet-stream", "Content-Disposition": tt.disposition, "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
		} {
			if got.header.Get(header) != want {
				t.Errorf("%q: %s: %q, want %q", tt.path, header, got.header.Get(header), want)
			}
		}
	}
	if got := ask(t, s, http.MethodGet, links.Output(result.Output{Path: "none"}), ""); got.status != http.StatusNotFound {
		t.Errorf("a file that is not there: %s", got)
	}
	if !strings.Contains(page(t, s, "run?id=done").body, "/download?attempt=1&amp;id=done&amp;part=output&amp;path=a%2Fpage.html") {
		t.Error("the page of the run has no link")
	}
}

// TestDownloadKept: logs and script, of which a page shows only the ends, can be downloaded whole.
func TestDownloadKept(t *testing.T) {
	h := seeded(t)
	s := started(t, h)
	links := links{s, catalog.Key{ID: "done", Attempt: 1}}
	all := map[string]string{links.Stdout(): "done.stdout.txt", links.Stderr(): "done.stderr.txt", links.Script(): "fit.py"}
	for link := range all {
		if got := ask(t, s, http.MethodGet, link, ""); got.status != http.StatusNotFound {
			t.Errorf("%s, which the run has not: %s", link, got)
		}
	}
	if body := page(t, s, "run?id=done").body; strings.Contains(body, "part=stdout") || strings.Contains(body, "part=script") {
		t.Error("the page links what the run has not")
	}
	long := strings.Repeat("line\n", 100_000) + "last"
	digest := h.put(t, long)
	h.logs = result.Logs{Stdout: result.Log{Bytes: int64(len(long)), SHA256: digest}, Stderr: result.Log{Bytes: int64(len(long)), SHA256: digest}}
	h.script = &result.Script{Name: "fit.py", SHA256: digest}
	body := page(t, s, "run?id=done").body
	for link, name := range all {
		got := ask(t, s, http.MethodGet, link, "")
		if got.body != long || got.header.Get("Content-Type") != "application/octet-stream" || !strings.Contains(got.header.Get("Content-Disposition"), `"`+name+`"`) {
			t.Errorf("%s: %d bytes, %v", link, len(got.body), got.header)
		}
		if !strings.Contains(body, strings.ReplaceAll(link, "&", "&amp;")) {
			t.Errorf("the page of the run has no link to %s", name)
		}
	}
}

// TestDownloadDamaged: a client that gets bytes that do not match the digest notices that the file is not whole, also
// without a Content-Length.
func TestDownloadDamaged(t *testing.T) {
	h := newHome(t)
	for _, size := range []int{10, 128 << 10, 300 << 10} {
		content := strings.Repeat("x", size)
		id := "run-" + strings.Repeat("i", size%97)
		run := h.begin(t, id, at(1), nil)
		h.end(t, run, outcome.Complete, [2]string{"file", content})
		h.logs.Stdout = result.Log{Bytes: int64(size), SHA256: h.put(t, content)}
		s := started(t, h)
		links := links{s, run.Key}
		both := []string{links.Output(result.Output{Path: "file"}), links.Stdout()}
		for _, link := range both {
			if got := ask(t, s, http.MethodGet, link, ""); got.err != nil || got.body != content {
				t.Errorf("%d bytes: %s, %v", size, got, got.err)
			}
		}
		path, err := h.blobs.Path(h.put(t, content))
		must(t, err)
		must(t, os.Chmod(path, 0o600))
		must(t, os.WriteFile(path, []byte(content[1:]+"y"), 0o600))
		for _, link := range both {
			got, err := http.Get("http://" + s.host + link)
			if err != nil {
				continue // broken off before the first byte
			}
			body, err := io.ReadAll(got.Body)
			if err == nil || len(body) >= size {
				t.Errorf("%s: %d of %d damaged bytes came, and %v", link, len(body), size, err)
			}
			got.Body.Close()
		}
	}
}

func TestDisposition(t *testing.T) {
	for path, want := range map[string]string{
		"plain.csv":                         "plain.csv",
		"dir/deep/x.png":                    "x.png",
		"..":                                "_.",
		"a/..":                              "_.",
		".bashrc":                           "_bashrc",
		"":                                  "output",
		"  ":                                "output",
		"a\"; filename=\"b.exe":             "a_; filename=_b.exe",
		"a\r\nSet-Cookie: x":                "a__Set-Cookie_ x",
		"C:\\x\\y.exe":                      "C__x_y.exe",
		"\u202egnp.exe":                     "_gnp.exe",
		"größe 100%.csv":                    "größe 100%.csv",
		"名前.txt":                            "名前.txt",
		strings.Repeat("ä", 200):            strings.Repeat("ä", 100),
		"%2e%2e%2fpasswd":                   "%2e%2e%2fpasswd",
		"nul\x00.txt":                       "nul_.txt",
		"<img src=x onerror=alert(1)>.html": "_img src=x onerror=alert(1)_.html",
	} {
		header := disposition([]byte(path))
		kind, parameters, err := mime.ParseMediaType(header) // RFC 2231 is what RFC 8187 profiles
		if err != nil || kind != "attachment" || parameters["filename"] != want {
			t.Errorf("%q: %q is read as %q %q, %v; want %q", path, header, kind, parameters, err, want)
		}
		for _, c := range header {
			if c < ' ' || c > '~' {
				t.Errorf("%q: %q has %q", path, header, c)
			}
		}
	}
}
