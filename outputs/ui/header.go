package ui

import (
	"net/http"
	"strings"
)

// protect sets what holds for every answer. A page widens the policy (allow).
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

// allow is the policy of a page: its style by its digest, images that it carries, forms that come back here, and of scripts the
// one at an address, if it has one, which may ask for one stream. No script may make HTML of a text.
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
