package batch

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

func TestExitCode(t *testing.T) {
	for want, s := range map[int]Summary{
		0:   {Complete: 3},
		1:   {Complete: 3, Failed: 1},
		125: {Failed: 1, Errors: 1},
		130: {Errors: 1, Signal: &request.StopSignal{ExitCode: 130, Name: "SIGINT"}},
	} {
		if got := s.ExitCode(); got != want {
			t.Errorf("%+v: %d, want %d", s, got, want)
		}
	}
	if got := (Summary{Canceled: 1}).ExitCode(); got != 1 {
		t.Errorf("one that was stopped: %d", got)
	}
}
