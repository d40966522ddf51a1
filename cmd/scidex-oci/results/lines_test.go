package results

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

func TestSentence(t *testing.T) {
	failed := result.Result{ID: "a", Outcome: outcome.Outcome{State: outcome.Failed, Message: "bad\x1b"}}
	if got, want := sentence(screen.Palette{}, failed, true), `failed    a  bad\x1b  (of an earlier batch)`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
