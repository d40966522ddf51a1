// Package outcome is the state of a run and its end: reason, exit code, signal and a message. The catalog's row and the
// result embed it, so that an end is decided once and copied whole.
package outcome

import (
	"encoding/json"
	"strconv"
)

// Outcome is the state of a run and, once it has ended, how it did.
type Outcome struct {
	State    State  `json:"state"`
	Reason   Reason `json:"reason"`    // "" as long as it has not ended
	Message  string `json:"message"`   // one sentence for people
	ExitCode Code   `json:"exit_code"` // of the command line
	Signal   Signal `json:"signal"`
}

// Fault is the outcome of a run that scidex-oci or its host failed at: lost with its supervisor, otherwise an error.
func Fault(reason Reason, message string) Outcome {
	o := Outcome{State: Error, Reason: reason, Message: message, ExitCode: ExitError}
	if reason == ReasonSupervisorLost {
		o.State = Lost
	}
	return o
}

// State of a run. The changes that are possible are in the catalog.
type State string

// The states. The comment of each is its row in docs/reference/ends.md; queued and running are not final.
const (
	// It waits in a queue.
	Queued State = "queued"
	// It goes on.
	Running State = "running"
	// The analysis ended well, and its outputs are kept.
	Complete State = "complete"
	// The analysis ended badly by its own doing or by a limit. Its outputs are kept.
	Failed State = "failed"
	// Somebody stopped it. What it had written is kept.
	Canceled State = "canceled"
	// scidex-oci or the host failed, or the request was refused.
	Error State = "error"
	// Its processes were killed from outside, so that nobody saw the end.
	Lost State = "lost"
)

// Final reports whether the run has ended.
func (s State) Final() bool { return s != Queued && s != Running }

// Code is an exit code; NoCode, null in JSON, in a result of a run that has not ended: 0 would read as success.
type Code int

// NoCode is that of a run that has none yet.
const NoCode Code = -1

// MarshalJSON writes null for none.
func (c Code) MarshalJSON() ([]byte, error) {
	if c == NoCode {
		return []byte("null"), nil
	}
	return json.Marshal(int(c))
}

// String is empty for none.
func (c Code) String() string {
	if c == NoCode {
		return ""
	}
	return strconv.Itoa(int(c))
}

// Signal names the signal that killed the analysis, "SIGKILL"; "", null in JSON, if none did.
type Signal string

// MarshalJSON writes null for none.
func (s Signal) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(s))
}
