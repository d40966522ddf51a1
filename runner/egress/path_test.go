package egress

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestPlainPath(t *testing.T) {
	for _, path := range []string{
		"/", "/v1/", "/v1/a", "/v1/a.b/..c/", "/a%20b", "/v1/.well-known/x", "/v1/a;b=c/d", "/v1/a:search", "/v1/:search", "/v1/x%3Ay", "/v1/%C3%A9t%C3%A9", "/v1/\u00e9",
		"/v1/a,b;c=1,2", "/v1/10.1000+x", "/v1/a%40b.org", "/v1/...a", "/v1/a..", "/v1/%E4%B8%AD", "/v1/%D9%A1",
	} {
		if !PlainPath(path) {
			t.Errorf("%q is refused", path)
		}
	}
	for _, path := range []string{
		"", "v1/", "*", "/v1/../a", "/v1/./a", "/v1//a", "//v1/a", "/v1/a//", "/v1/%2e%2E/a", "/v1/.%2e/a", "/v1/%2Fa", "/a\\b", "/a%5cb", "/a%252e", "/v1/..;x/a", "/..", "/v1/..",
		"/v1/..%3b/a", "/v1/..%3bx/a", "/v1/%3b/a", "/v1/..%3a/a", "/v1/..:x/a", "/v1/;/a", "/v1/.;/a", "/v1/..;a:b/c", "/v1/..:a;b/c",
		"/v1/%c0%ae%c0%ae/a", "/v1/%c0%af/a", "/v1/%e0%80%ae/a", "/v1/%ff/a", "/v1/%ed%a0%80/a",
		"/v1/.%09./a", "/v1/..%09/a", "/v1/%00/a", "/v1/a%0d%0ab", "/v1/%7f/a", "/v1/a\x01", "/v1/..%20/a", "/v1/%20/a", "/v1/%20../a", "/v1/.../a", "/v1/.%20./a",
		"/v1/%ef%bc%8e%ef%bc%8e/a", "/v1/\u2025/a", "/v1/a\u2215b", "/v1/a\uff0fb", "/v1/a\uff3cb", "/v1/\u2024\u2024/a", "/v1/..\u200b/a", "/v1/..\ufeff/a", "/v1/..\u00a0/a", "/v1/\u2488a",
		"/v1/%76", "/%761/a", "/v1/a%3f/a", "/v1/a%23", "/v1/%", "/v1/%4", "/v1/%zz", "/v1/%u002e%u002e/a",
	} {
		if PlainPath(path) {
			t.Errorf("%q is taken", path)
		}
	}
}

// FuzzPlainPath: whatever a server does with a path before it resolves it, a plain path stays in the directory that it begins with.
func FuzzPlainPath(f *testing.F) {
	for _, seed := range []string{"/v1/a", "/v1/../b", "/v1/..%3b/b", "/v1/.%2e/", "/v1/%c0%ae./b", "/v1/..%20/b", "/v1/..;x/b", "/v1/.%09./", "/v1/a:b/", "/v1/%e4%b8%ad"} {
		f.Add(seed)
	}
	cut := func(separators string) func(string) string {
		return func(p string) string {
			names := strings.Split(p, "/")
			for i, name := range names {
				if at := strings.IndexAny(name, separators); at >= 0 {
					names[i] = name[:at]
				}
			}
			return strings.Join(names, "/")
		}
	}
	trim := func(p string) string {
		names := strings.Split(p, "/")
		for i, name := range names {
			if short := strings.Trim(name, " "); strings.Trim(short, ".") == "" {
				names[i] = short
				continue
			}
			names[i] = strings.TrimRight(name, ". ")
		}
		return strings.Join(names, "/")
	}
	unescape := func(p string) string {
		if u, err := url.PathUnescape(p); err == nil {
			return u
		}
		return p
	}
	visible := func(p string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, p)
	}
	ascii := strings.NewReplacer("．", ".", "／", "/", "＼", "/", "․", ".", "‥", "..", "∕", "/", "\xc0\xae", ".", "\xc0\xaf", "/", "\\", "/").Replace
	query := func(p string) string { p, _, _ = strings.Cut(p, "?"); p, _, _ = strings.Cut(p, "#"); return p }
	steps := []func(string) string{unescape, cut(";"), cut(":"), trim, visible, ascii, query, unescape, cut(";"), trim}
	f.Fuzz(func(t *testing.T, text string) {
		p := "/v1/" + text
		if !PlainPath(p) {
			return
		}
		for do := range 1 << len(steps) {
			read := p
			for i, step := range steps {
				if do>>i&1 == 1 {
					read = step(read)
				}
			}
			if got := path.Clean(read); got != "/v1" && !strings.HasPrefix(got, "/v1/") {
				t.Fatalf("%q is plain, and a server reads %q, which is %q", p, read, got)
			}
		}
	})
}
