package spec

import (
	"strings"
	"testing"
)

func TestInputByDigest(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 4)
	for in, want := range map[string]string{
		"sha256:" + hex:                    "/inputs/" + hex,
		"sha256:" + hex + ":a.csv":         "/inputs/a.csv",
		"sha256:" + hex + ":/models/m.bin": "/models/m.bin",
	} {
		got, err := ParseInput(in)
		digest, ok := got.Digest()
		if err != nil || !ok || digest != hex || got.Destination != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
		resolved := Analysis{Inputs: []string{in}}.ResolvePaths("/here").Inputs[0]
		if again, err := ParseInput(resolved); err != nil || again != got {
			t.Errorf("%q resolved is %q: %+v, %v", in, resolved, again, err)
		}
	}
	for in, want := range map[string]string{
		"sha256:":                        "is no digest",
		"sha256:abc":                     "is no digest",
		"sha256:" + strings.ToUpper(hex): "is no digest",
		"sha256:" + hex[1:] + "/":        "is no digest",
		"sha256:" + hex + ":":            "has no name",
		"sha256:" + hex + ":../x":        "simplest form",
		"sha256:" + hex + ":/work/x":     "has its own use",
		"sha256:" + hex + ":/inputs":     "would hide others",
	} {
		if _, err := ParseInput(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", in, err, want)
		}
		if got := (Analysis{Inputs: []string{in}}).ResolvePaths("/here").Inputs[0]; want == "is no digest" && got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
	if in, err := ParseInput("./sha256:abc"); err != nil || in.Source != "./sha256:abc" {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestInputByURL(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 4)
	for in, want := range map[string]struct{ resolved, store, destination string }{
		"s3://b/sha256/" + hex:                           {"", "s3://b", "/inputs/" + hex},
		"s3://b/some%20where/é/sha256/" + hex + ":a.csv": {"", "s3://b/some%20where/é", "/inputs/a.csv"},
		"s3://b/a:/b/sha256/" + hex + ":/models/m":       {"", "s3://b/a:/b", "/models/m"},
		"s3://b/sha256/x/sha256/" + hex:                  {"", "s3://b/sha256/x", "/inputs/" + hex},
		"s3://b/sha256/" + hex + ":x/sha256/" + hex:      {"", "s3://b", "/inputs/x/sha256/" + hex},
		"file:///blobs/sha256/" + hex + ":a.csv":         {"", "file:///blobs", "/inputs/a.csv"},
		"file:///a/../blobs/sha256/" + hex:               {"file:///blobs/sha256/" + hex, "file:///a/../blobs", "/inputs/" + hex},
		"file://blobs/sha256/" + hex:                     {"file:///here/blobs/sha256/" + hex, "file://blobs", "/inputs/" + hex},
	} {
		got, err := ParseInput(in)
		digest, ok := got.Digest()
		if err != nil || !ok || digest != hex || got.Store() != want.store || got.Destination != want.destination {
			t.Errorf("%q: %+v in %q, %v", in, got, got.Store(), err)
		}
		resolved := Analysis{Inputs: []string{in}}.ResolvePaths("/here").Inputs[0]
		again, err := ParseInput(resolved)
		if want.resolved == "" {
			want.resolved = got.Source
		}
		if err != nil || again.Source != want.resolved || again.Destination != got.Destination {
			t.Errorf("%q resolved is %q: %+v, %v", in, resolved, again, err)
		}
	}
	for in, want := range map[string]string{
		"s3://":                                   "names no digest",
		"s3://b/data.csv":                         "names no digest",
		"s3://b/data.csv:/inputs/x":               "names no digest",
		"s3://b/sha256/" + hex[1:]:                "names no digest",
		"s3://b/sha256/" + strings.ToUpper(hex):   "names no digest",
		"s3://b/sha256/" + hex + "/":              "names no digest",
		"s3://b/sha256/" + hex + "?endpoint=http": "names no digest",
		"s3://b/" + hex:                           "names no digest",
		"file:///etc/shadow":                      "names no digest",
		"s3://b/sha256/" + hex + ":":              "has no name",
		"s3://b/sha256/" + hex + ":../x":          "simplest form",
		"s3://b/sha256/" + hex + ":/work/x":       "has its own use",
		"s3://b/\x00/sha256/" + hex:               "NUL byte",
	} {
		if _, err := ParseInput(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", in, err, want)
		}
		if got := (Analysis{Inputs: []string{in}}).ResolvePaths("/here").Inputs[0]; want == "names no digest" && got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
}
