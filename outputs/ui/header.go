package ui

import (
	"net/http"
	"strings"
)

// protect sets the headers of every answer. A page widens the policy (allow).
func protect(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY", // for browsers without frame-ancestors
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		h.Set(name, value)
	}
}

// allow sets the Content-Security-Policy of a page. The page may have the style with this digest, embedded images, and forms that go to
// this server. With events it may also have one script, which may open one stream. No script may turn text into HTML.
func (s *Server) allow(h http.Header, style, events string) {
	policy := []string{
		"default-src 'none'", "style-src " + style, "img-src data:", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'",
		"require-trusted-types-for 'script'", "trusted-types 'none'",
	}
	if events != "" {
		at := "http://" + s.host + s.key.root()
		policy = append(policy, "script-src "+at+scriptPage, "connect-src "+at+eventsPage)
	}
	h.Set("Content-Security-Policy", strings.Join(policy, "; "))
}
