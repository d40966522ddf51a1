package results

import (
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Listed is a line of ls --json; the fields are those of a result.
type Listed struct {
	ID            string            `json:"id"`
	Attempt       int               `json:"attempt"`
	State         outcome.State     `json:"state"`
	Reason        outcome.Reason    `json:"reason"`
	Message       string            `json:"message"`
	ExitCode      outcome.Code      `json:"exit_code"`
	CreatedAt     *time.Time        `json:"created_at"`
	StartedAt     *time.Time        `json:"started_at"`
	FinishedAt    *time.Time        `json:"finished_at"`
	Ran           string            `json:"ran"`
	Usage         result.Usage      `json:"usage"`
	OutputsTotal  int64             `json:"outputs_total"`
	RejectedTotal int64             `json:"rejected_total"`
	Labels        map[string]string `json:"labels"`

	Pinned           bool       `json:"pinned"`
	OutputsRemovedAt *time.Time `json:"outputs_removed_at,omitempty"`
}

// NewListed makes the line of a run.
func NewListed(r catalog.Run) Listed {
	l := Listed{
		ID: r.ID, Attempt: r.Attempt, State: r.State, Reason: r.Reason, Message: r.Message, ExitCode: r.ExitCode,
		CreatedAt: Moment(r.CreatedAt), StartedAt: Moment(r.StartedAt), FinishedAt: Moment(r.FinishedAt),
		Ran: result.Ran(r.Request), Usage: stores.UsageOf(r), OutputsTotal: r.OutputsTotal, RejectedTotal: r.RejectedTotal, Labels: r.Labels,
		Pinned: r.Pinned, OutputsRemovedAt: Moment(r.OutputsRemovedAt),
	}
	if !r.State.Final() {
		l.ExitCode = outcome.NoCode
	}
	if l.Labels == nil {
		l.Labels = map[string]string{}
	}
	return l
}

// Moment is a time, nil for the zero time.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
