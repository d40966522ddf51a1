package main

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// exitCodes is the table of the help and the man page.
const exitCodes = `Exit codes of run:
  the analysis' own code passes through, and
  1    a declared output is missing
  124  timed out
  125  scidex-oci or the host failed: bad request, sandbox, harvest, commit
  126  the command cannot be invoked
  127  the command was not found
  128+N  killed by signal N (129, 130, 131 and 143 also where SIGHUP, SIGINT, SIGQUIT or SIGTERM canceled
       the run, and 143 where stop did)
  137  out of memory, or SIGKILL
The analysis may exit with any of them itself: the state and reason of the result are what counts.

Exit codes of the other commands: 0 done, 125 an error (not found, bad name, bad flag).`

// exitStatus is an exit code that needs no message: everything has been said.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// usageError is a command line that cannot be understood.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// exitCode is what the process ends with after err.
func exitCode(err error) int {
	var status exitStatus
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

// silent reports whether err has been told to the user already.
func silent(err error) bool {
	var status exitStatus
	return err == nil || errors.As(err, &status)
}
