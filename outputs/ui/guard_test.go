package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

const evil = "http://hostile.invalid:8080"

// attack is a request by somebody else, which works only if guard is removed.
type attack struct {
	name, guard string
	run         func(t *testing.T, s *Server, h *home) bool // whether it worked
}

func reads(target func(*Server) string, headers ...string) func(*testing.T, *Server, *home) bool {
	return func(t *testing.T, s *Server, _ *home) bool {
		t.Helper()
		got := ask(t, s, http.MethodGet, target(s), "", headers...)
		return got.status == http.StatusOK && strings.Contains(got.body, "done@1")
	}
}

func list(s *Server) string { return s.key.root() }

var goingKey = catalog.Key{ID: "going", Attempt: 1}

func form(proof string) string {
	return url.Values{"id": {"going@1"}, "proof": {proof}}.Encode()
}

const formType = "application/x-www-form-urlencoded"

func stopsBy(form func(*Server) string, headers ...string) func(*testing.T, *Server, *home) bool {
	return func(t *testing.T, s *Server, h *home) bool {
		t.Helper()
		before := h.stops()
		ask(t, s, http.MethodPost, s.key.root()+stopPage, form(s), append([]string{"Content-Type", formType}, headers...)...)
		return h.stops() > before
	}
}

func rightForm(s *Server) string { return form(s.key.sign(ending(goingKey)...)) }

// TestAttacks: each of them is stopped, and works if one guard is missing: only that guard stops it.
func TestAttacks(t *testing.T) {
	attacks := []attack{
		{"a name that resolves to the loopback", "host", reads(list, "Host", "hostile.invalid", "Sec-Fetch-Site", "same-origin")},
		{"the same with the port", "host", func(t *testing.T, s *Server, h *home) bool {
			return reads(list, "Host", "hostile.invalid"+s.host[strings.LastIndex(s.host, ":"):], "Sec-Fetch-Site", "same-origin")(t, s, h)
		}},
		{"localhost, which may be another address", "host", func(t *testing.T, s *Server, h *home) bool {
			return reads(list, "Host", "localhost"+s.host[strings.LastIndex(s.host, ":"):])(t, s, h)
		}},
		{"a guessed proof", "proof", reads(func(*Server) string { return "/" + newKey().sign("pages") + "/" })},
		{"no proof", "proof", reads(func(*Server) string { return "//" })},
		{"the proof of a download", "proof", reads(func(s *Server) string {
			return "/" + s.key.sign(file{catalog.Key{ID: "done", Attempt: 1}, outputPart, "a/page.html"}.purpose()...) + "/"
		})},
		{"one character more", "proof", reads(func(s *Server) string { return "/" + s.key.sign("pages") + "A/" })},
		{"half of it", "proof", reads(func(s *Server) string { return "/" + s.key.sign("pages")[:21] + "/" })},
		{"the download of another file", "proof", func(t *testing.T, s *Server, _ *home) bool {
			other := file{catalog.Key{ID: "done", Attempt: 1}, outputPart, "other"}
			target := "/" + s.key.sign(other.purpose()...) + "/download?id=done&attempt=1&part=output&path=a%2Fpage.html"
			return strings.Contains(ask(t, s, http.MethodGet, target, "").body, "alert(1)")
		}},
		{"the log, by the proof of an output", "proof", func(t *testing.T, s *Server, h *home) bool {
			h.logs.Stdout.SHA256 = h.put(t, "what it said")
			output := file{catalog.Key{ID: "done", Attempt: 1}, outputPart, "stdout"}
			target := "/" + s.key.sign(output.purpose()...) + "/download?id=done&attempt=1&part=stdout"
			return ask(t, s, http.MethodGet, target, "").body == "what it said"
		}},
		{"a page of another site that knows the address", "site", reads(list, "Sec-Fetch-Site", "cross-site")},
		{"one of another port", "site", reads(list, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors")},
		{"a script of another site, in a browser that does not say so", "origin", reads(list, "Origin", evil)},
		{"a form of another site that knows the proofs", "origin", stopsBy(rightForm, "Origin", evil)},
		{"a form of another site, in a frame without an origin", "origin", stopsBy(rightForm, "Origin", "null")},
		{"a form from nowhere", "origin", stopsBy(rightForm)},
		{"a form without a proof", "form", stopsBy(func(*Server) string { return form("") }, "Sec-Fetch-Site", "same-origin")},
		{"a form with that of another run", "form", stopsBy(func(s *Server) string {
			return form(s.key.sign(ending(catalog.Key{ID: "done", Attempt: 1})...))
		}, "Sec-Fetch-Site", "same-origin")},
		{"a form with the proof of the pages", "form", stopsBy(func(s *Server) string { return form(s.key.sign("pages")) }, "Sec-Fetch-Site", "same-origin")},
		{"a method that no page takes", "method", func(t *testing.T, s *Server, _ *home) bool {
			return ask(t, s, http.MethodDelete, s.key.root(), "").status == http.StatusOK
		}},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			h := seeded(t)
			if a.run(t, started(t, h), h) {
				t.Error("it works")
			}
			for _, g := range guards() {
				if works := a.run(t, started(t, h, g.name), h); works != (g.name == a.guard) {
					t.Errorf("without the guard %q it works: %t", g.name, works)
				}
			}
		})
	}
}

// TestGuardsPass: requests of a person's browser.
func TestGuardsPass(t *testing.T) {
	h := seeded(t)
	s := started(t, h)
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"}} {
		if got := page(t, s, "", headers...); got.status != http.StatusOK || !strings.Contains(got.body, "done@1") {
			t.Errorf("%q: %s", headers, got)
		}
	}
	for _, headers := range [][]string{
		{"Origin", "http://" + s.host}, {"Origin", "null", "Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "same-origin"},
	} {
		before := h.stops()
		got := ask(t, s, http.MethodPost, s.key.root()+stopPage, rightForm(s), append(headers, "Content-Type", formType)...)
		if got.status != http.StatusSeeOther || got.header.Get("Location") != s.key.root()+"run?id=going%401" || h.stops() != before+1 {
			t.Errorf("%q: %s, Location %q", headers, got, got.header.Get("Location"))
		}
	}
	head := ask(t, s, http.MethodHead, s.key.root(), "")
	if head.status != http.StatusOK || head.body != "" {
		t.Errorf("HEAD: %s", head)
	}
}

// TestPaths: no form of a path leads anywhere but to the known pages.
func TestPaths(t *testing.T) {
	s := started(t, seeded(t))
	root := s.key.root()
	for _, path := range []string{
		root + "../", root + "..%2f", root + "%2e%2e/", root + "run/..", root + "./", root + "%00", root + "run%00", root + "live.js/", root + "/", root + "//etc/passwd",
		root + "list.html", root + "ui.css", root + "%6cive/x", root + "..\\run", root + "download/../run", "/", "//", "/..", "/%2e%2e" + root, "/x" + root,
		strings.TrimSuffix(root, "/") + "%2flive", root + strings.Repeat("a", 8000), root + strings.Repeat("../", 2000), root + "run;id=done", root + "download",
	} {
		line := raw(t, s, "GET "+path+" HTTP/1.1\r\nHost: "+s.host+"\r\nConnection: close\r\n\r\n")
		if line != "HTTP/1.1 404 Not Found" {
			t.Errorf("%.100q: %s", path, line)
		}
	}
	for request, want := range map[string]string{
		"GET " + root + " HTTP/1.1\r\nConnection: close\r\n\r\n":                                                                   "HTTP/1.1 400 Bad Request: missing required Host header",
		"GET " + root + " HTTP/1.1\r\nHost: " + s.host + "\r\nHost: hostile.invalid\r\nConnection: close\r\n\r\n":                  "HTTP/1.1 400 Bad Request",
		"GET http://hostile.invalid" + root + " HTTP/1.1\r\nHost: " + s.host + "\r\nConnection: close\r\n\r\n":                     "HTTP/1.1 421 Misdirected Request",
		"CONNECT " + s.host + " HTTP/1.1\r\nHost: " + s.host + "\r\nConnection: close\r\n\r\n":                                     "HTTP/1.1 405 Method Not Allowed",
		"OPTIONS * HTTP/1.1\r\nHost: " + s.host + "\r\nConnection: close\r\n\r\n":                                                  "HTTP/1.1 405 Method Not Allowed",
		"GET " + root + " HTTP/1.1\r\nHost: " + s.host + "\r\nX: " + strings.Repeat("a", 30<<10) + "\r\nConnection: close\r\n\r\n": "HTTP/1.1 431 Request Header Fields Too Large",
		"GET " + root + strings.Repeat("a", 30<<10) + " HTTP/1.1\r\nHost: " + s.host + "\r\nConnection: close\r\n\r\n":             "HTTP/1.1 431 Request Header Fields Too Large",
		"POST " + root + "stop HTTP/1.1\r\nHost: " + s.host + "\r\nSec-Fetch-Site: same-origin\r\nContent-Type: " + formType +
			"\r\nContent-Length: 10000\r\nConnection: close\r\n\r\n" + strings.Repeat("a", 10000): "HTTP/1.1 400 Bad Request",
	} {
		if line := raw(t, s, request); line != want {
			t.Errorf("%.100q: %s, want %s", request, line, want)
		}
	}
	for _, query := range []string{"state=none", "label=x", "after=x", "after=2026-01-02T03:04:05Z,0,a", "text=a&text=b", "x=1", "%zz", "a;b"} {
		if got := page(t, s, "?"+query); got.status != http.StatusBadRequest || strings.Contains(got.body, "done@1") {
			t.Errorf("?%s: %s", query, got)
		}
	}
}

// TestHeaders: every answer has them, whatever it is.
func TestHeaders(t *testing.T) {
	s := started(t, seeded(t))
	for _, name := range []string{"", "run?id=done", "run?id=going", "live", "against?id=done&with=done", "live.js", "nothing", "run?id=nothing", "stop"} {
		got := page(t, s, name).header
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.Get(header) != want {
				t.Errorf("%q: %s: %q, want %q", name, header, got.Get(header), want)
			}
		}
		policy := got.Get("Content-Security-Policy")
		for _, word := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, word) {
				t.Errorf("%q: the policy %q has no %s", name, policy, word)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") != (name == "live" || name == "run?id=going") {
			t.Errorf("%q: the policy is %q", name, policy)
		}
		if len(got.Values("Set-Cookie"))+len(got.Values("Access-Control-Allow-Origin")) > 0 {
			t.Errorf("%q: %v", name, got)
		}
	}
	for _, target := range []string{"/", "/x/"} { // whoever does not know the address does not learn it
		if got := ask(t, s, http.MethodGet, target, ""); strings.Contains(got.body, s.key.sign("pages")) {
			t.Errorf("%s: %s", target, got)
		}
	}
	got := page(t, s, "", "Host", "hostile.invalid")
	if strings.Contains(got.body, s.key.sign("pages")) {
		t.Errorf("another host: %s", got)
	}
}

// TestProofIsForOneList: the same text split into other words is another purpose.
func TestProofIsForOneList(t *testing.T) {
	k := newKey()
	if !k.proves(k.sign("ab", "c"), "ab", "c") {
		t.Error("a proof is not taken")
	}
	for _, other := range [][]string{{"a", "bc"}, {"abc"}, {"ab", "c", ""}, {"c", "ab"}} {
		if k.proves(k.sign("ab", "c"), other...) {
			t.Errorf("the proof for [ab c] is one for %q", other)
		}
	}
}
