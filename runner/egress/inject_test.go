package egress

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

func TestParseInjection(t *testing.T) {
	for text, want := range map[string]Injection{
		"api.example.org/=Authorization:env:TOKEN":    {Host: "api.example.org", Prefix: "/", Header: "Authorization", Variable: "TOKEN"},
		"GET API.example.org/v1/=x-api-key:env:KEY_2": {Method: "GET", Host: "api.example.org", Prefix: "/v1/", Header: "x-api-key", Variable: "KEY_2"},
	} {
		if got, err := ParseInjection(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, why := range map[string]string{
		"":                                      "is not [METHOD ]",
		"api.example.org=A:env:B":               "is not [METHOD ]",
		"api.example.org/v1=A:env:B":            "must end with '/'",
		"api.example.org/../=A:env:B":           "must end with '/'",
		"api.example.org/%2e/=A:env:B":          "must end with '/'",
		"api.example.org/a%20b/=A:env:B":        "must end with '/'",
		"api.example.org/a\\b/=A:env:B":         "must end with '/'",
		"api.example.org/a;b/..;/=A:env:B":      "must end with '/'",
		"api.example.org/=A:B":                  "is not [METHOD ]",
		"api.example.org/=A:env:":               "is not [METHOD ]",
		"api.example.org/=A b:env:B":            "is not [METHOD ]",
		"*.example.org/=A:env:B":                "one host",
		"api.example.org:443/=A:env:B":          "one host",
		"https://api.example.org/=A:env:B":      "must end with",
		"127.0.0.1/=A:env:B":                    "full DNS name",
		"api.example.org/=Host:env:B":           "the proxy's own",
		"api.example.org/=content-length:env:B": "the proxy's own",
		"TRACE api.example.org/=A:env:B":        "no header is added",
	} {
		if got, err := ParseInjection(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, why)
		}
	}
}

func TestCheck(t *testing.T) {
	hosts := func(list ...string) []spec.Host {
		parsed, err := spec.ParseHosts(list)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	p := Policy{Bounds: []Bound{{"a.yaml", hosts("*.example.org")}, {"b.yaml", hosts("api.example.org", "x.example.com")}}}
	for asked, why := range map[string]string{
		"": "", "api.example.org": "", "x.example.org": "b.yaml", "x.example.com": "a.yaml", "*.example.org": "b.yaml",
	} {
		err := p.Check(strings.Fields(asked))
		if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", asked, err, why)
		}
	}
	if err := (Policy{}).Check([]string{"api.example.org"}); err == nil || !strings.Contains(err.Error(), "no config file permits") {
		t.Errorf("%v", err)
	}
}

func TestValues(t *testing.T) {
	i, err := ParseInjection("api.example.org/=Authorization:env:EGRESS_TEST_TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{Inject: []Injection{i}}
	api, other := []spec.Host{{Name: "api.example.org"}}, []spec.Host{{Name: "other.example.org"}}
	if all, err := p.withValues(other); len(all) > 0 || err != nil {
		t.Errorf("another host gets %v, %v", all, err)
	}
	if _, err := p.withValues(api); err == nil || !strings.Contains(err.Error(), "no variable EGRESS_TEST_TOKEN") {
		t.Errorf("%v", err)
	}
	t.Setenv("EGRESS_TEST_TOKEN", "a\r\nX: b")
	if _, err := p.withValues(api); err == nil || strings.Contains(err.Error(), "X: b") {
		t.Errorf("%v", err)
	}
	t.Setenv("EGRESS_TEST_TOKEN", "secret")
	if all, err := p.withValues(api); err != nil || len(all) != 1 || all[0].Value != "secret" {
		t.Errorf("%v, %v", all, err)
	}
}
