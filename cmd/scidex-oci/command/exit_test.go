package command

import (
	"errors"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		err    error
		code   int
		silent bool
	}{
		{nil, 0, true},
		{ExitStatus(3), 3, true},
		{errors.New("x"), 125, false},
		{Usagef("x"), 125, false},
		{&request.Error{Err: errors.New("x")}, 125, false},
		{&request.Error{Err: &request.StoppedError{Signal: request.StopSignal{ExitCode: 143}}}, 143, false},
	}
	for _, test := range tests {
		if got := ExitCode(test.err); got != test.code || Silent(test.err) != test.silent {
			t.Errorf("%v: code %d, silent %v", test.err, got, Silent(test.err))
		}
	}
}
