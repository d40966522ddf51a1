package spec

import (
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	for text, want := range map[string]Host{
		"api.example.org":      {Name: "api.example.org"},
		"API.Example.org:443":  {Name: "api.example.org", Port: 443},
		"*.example.org":        {Name: "example.org", Below: true},
		"*.example.org:8443":   {Name: "example.org", Below: true, Port: 8443},
		"xn--bcher-kva.de":     {Name: "xn--bcher-kva.de"},
		"3com.example.com":     {Name: "3com.example.com"},
		"a_b.s3.amazonaws.com": {Name: "a_b.s3.amazonaws.com"},
	} {
		got, err := ParseHost(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParseHost(got.String()); err != nil || again != got {
			t.Errorf("%s: %s is read as %+v, %v", text, got, again, err)
		}
	}
}

func TestParseHostRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                              "empty",
		"*":                             "letters",
		"*.":                            "empty",
		"*.*.example.org":               "letters",
		"a.*.example.org":               "letters",
		"localhost":                     "one part",
		"*.org":                         "one part",
		"https://api.example.org":       "is a URL",
		"api.example.org/v1":            "is a URL",
		"api.example.org.":              "ends with '.'",
		"api..example.org":              "empty",
		"-a.example.org":                "letters",
		"bücher.de":                     "xn--",
		"api.example.org:":              "port",
		"api.example.org:0":             "port",
		"api.example.org:0443":          "port",
		"api.example.org:+443":          "port",
		"api.example.org:65536":         "port",
		"api.example.org:https":         "port",
		"127.0.0.1":                     "address",
		"0x7f.0.0.1":                    "address",
		"0177.1":                        "address",
		"1.2.3.4:80":                    "address",
		"[::1]":                         "port",
		"a b.example.org":               "letters",
		"a\x00.example.org":             "letters",
		"user@example.org":              "letters",
		strings.Repeat("a.", 130) + "b": "253",
	} {
		if h, err := ParseHost(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v, want %q", text, h, err, why)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		host, name string
		port       uint16
		want       bool
	}{
		{"api.example.org", "api.example.org", 443, true},
		{"api.example.org", "api.example.org", 80, true},
		{"api.example.org", "api.example.org", 8080, false},
		{"api.example.org:8080", "api.example.org", 8080, true},
		{"api.example.org:8080", "api.example.org", 443, false},
		{"api.example.org", "x.api.example.org", 443, false},
		{"api.example.org", "example.org", 443, false},
		{"*.example.org", "api.example.org", 443, true},
		{"*.example.org", "a.b.example.org", 443, true},
		{"*.example.org", "example.org", 443, false},
		{"*.example.org", "evilexample.org", 443, false},
		{"*.example.org", ".example.org", 443, false},
		{"*.example.org", "a..example.org", 443, false},
		{"*.example.org", "a.example.org.", 443, false},
		{"*.example.org", "API.example.org", 443, false},
		{"*.example.org", "a/.example.org", 443, false},
	} {
		h, err := ParseHost(c.host)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Covers(c.name, c.port); got != c.want {
			t.Errorf("%s covers %s:%d: %v", c.host, c.name, c.port, got)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		host   string
		bounds string
		want   bool
	}{
		{"api.example.org", "api.example.org", true},
		{"api.example.org", "*.example.org", true},
		{"api.example.org", "other.example.org *.example.org", true},
		{"api.example.org", "", false},
		{"api.example.org", "api.example.org:443", false},
		{"api.example.org", "api.example.org:443 api.example.org:80", true},
		{"api.example.org:443", "api.example.org", true},
		{"api.example.org:8443", "api.example.org", false},
		{"*.example.org", "*.example.org", true},
		{"*.a.example.org", "*.example.org", true},
		{"*.example.org", "*.a.example.org", false},
		{"*.example.org", "example.org", false},
		{"*.example.org", "a.example.org", false},
		{"example.org", "*.example.org", false},
	} {
		h, err := ParseHost(c.host)
		if err != nil {
			t.Fatal(err)
		}
		bounds, err := ParseHosts(strings.Fields(c.bounds))
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Within(bounds); got != c.want {
			t.Errorf("%s within %q: %v", c.host, c.bounds, got)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	f.Add("*.example.org:443")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHost(text)
		if err != nil {
			return
		}
		if again, err := ParseHost(h.String()); err != nil || again != h {
			t.Errorf("%q: %+v is written %s and read %+v, %v", text, h, h, again, err)
		}
	})
}
