package command

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// ExitStatus is an exit code that needs no message: everything has been said.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// UsageError is a command line that cannot be understood.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return e.message }

// Usagef makes the error of a command line that cannot be understood.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// ExitCode is what the process ends with after err.
func ExitCode(err error) int {
	var status ExitStatus
	var stopped *request.StoppedError
	var interrupted *interruptedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &stopped):
		return stopped.Signal.ExitCode
	case errors.As(err, &interrupted):
		return interrupted.by.ExitCode
	}
	return result.ExitError
}

// Silent reports whether err has been told to the user already.
func Silent(err error) bool {
	var status ExitStatus
	return err == nil || errors.As(err, &status)
}
