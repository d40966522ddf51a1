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
