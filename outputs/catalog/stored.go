package catalog

import (
	"encoding/json"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// stored is a Run in the records that wait on a disk for a catalog. In them the outcome's keys are Go's names of its fields.
type stored struct {
	State    outcome.State
	Reason   outcome.Reason
	Message  string
	ExitCode outcome.Code
	Signal   string
	*fields
}

type fields Run // without the methods

// MarshalJSON writes a run for a record.
func (r Run) MarshalJSON() ([]byte, error) {
	return json.Marshal(stored{r.State, r.Reason, r.Message, r.ExitCode, string(r.Signal), (*fields)(&r)})
}

// UnmarshalJSON reads what MarshalJSON has written, in this version or an earlier one.
func (r *Run) UnmarshalJSON(text []byte) error {
	s := stored{fields: (*fields)(r)}
	err := json.Unmarshal(text, &s)
	r.Outcome = outcome.Outcome{State: s.State, Reason: s.Reason, Message: s.Message, ExitCode: s.ExitCode, Signal: outcome.Signal(s.Signal)}
	return err
}
