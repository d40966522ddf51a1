package runner

import (
	"errors"
	"fmt"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// TestUnopened: what a run would be committed to and cannot be used is no fault of the sandbox, nor of the request.
func TestUnopened(t *testing.T) {
	unusable := &CatalogError{errors.New("connection refused")}
	for name, c := range map[string]struct {
		err  error
		want result.Reason
	}{
		"the catalog":                  {unusable, result.ReasonCommit},
		"the catalog, told further":    {fmt.Errorf("look up: %w", unusable), result.ReasonCommit},
		"the catalog, by a request":    {refusal(unusable), result.ReasonCommit},
		"the request":                  {refusal(errors.New("no such file")), result.ReasonRequest},
		"the host, which is neither":   {errors.New("no user namespaces"), result.ReasonSandbox},
		"the catalog, as a RequestErr": {&RequestError{unusable}, result.ReasonCommit},
	} {
		if got := Refused(spec.Analysis{}, c.err, "v1").Reason; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCheckTmp(t *testing.T) {
	for path, want := range map[string]string{
		t.TempDir():     "",
		"/etc/passwd":   `--tmp "/etc/passwd" is not a directory; give one`,
		"/etc/passwd/a": `--tmp "/etc/passwd/a" is not a directory; give one`,
		"/no/such/dir":  `--tmp "/no/such/dir" does not exist; make it, or give another directory`,
	} {
		if got := fmt.Sprint(checkTmp(path)); got != want && (want != "" || got != "<nil>") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestRecordable(t *testing.T) {
	if err := recordable("--tmp", "/tmp/größe/日本"); err != nil {
		t.Error(err)
	}
	const want = `--tmp "/tmp/a\xff" is not UTF-8, so it cannot be recorded: rename or recode it, or give another directory`
	if err := recordable("--tmp", "/tmp/a\xff"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
