package command

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// ExitStatus is an exit code without a message: it was already printed.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// UsageError is an invalid command line.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return e.message }

// Usagef makes the error of an invalid command line.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// ExitCode is the process' exit code after err.
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
	return outcome.ExitError
}

// Silent reports whether err was already reported to the user.
func Silent(err error) bool {
	var status ExitStatus
	return err == nil || errors.As(err, &status)
}
