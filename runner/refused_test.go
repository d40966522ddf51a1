package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// TestUnopened: what a run would be committed to and cannot be used is no fault of the sandbox, nor of the request.
func TestUnopened(t *testing.T) {
	unusable := &request.CatalogError{Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		err  error
		want outcome.Reason
	}{
		"the catalog":                  {unusable, outcome.ReasonCommit},
		"the catalog, told further":    {fmt.Errorf("look up: %w", unusable), outcome.ReasonCommit},
		"the catalog, by a request":    {request.Refusal(unusable), outcome.ReasonCommit},
		"the request":                  {request.Refusal(errors.New("no such file")), outcome.ReasonRequest},
		"the host, which is neither":   {errors.New("no user namespaces"), outcome.ReasonSandbox},
		"the catalog, as a RequestErr": {&request.Error{Err: unusable}, outcome.ReasonCommit},
	} {
		if got := Refused(spec.Analysis{}, c.err, "v1").Reason; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestRefusedSecrets: the value that was given with a secret by mistake is in no result.
func TestRefusedSecrets(t *testing.T) {
	a := spec.Analysis{Secrets: []string{"TOKEN=s3cr3t", "KEY"}}
	got := string(Refused(a, request.Refusal(errors.New("no")), "v1").Analysis)
	if strings.Contains(got, "s3cr3t") || !strings.Contains(got, `["TOKEN","KEY"]`) || a.Secrets[0] != "TOKEN=s3cr3t" {
		t.Errorf("%s of %q", got, a.Secrets)
	}
}
