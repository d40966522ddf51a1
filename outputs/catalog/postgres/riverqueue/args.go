package riverqueue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/spec"
)

// args is a job as River stores it (jsonb). Fields are only added. The first three suffice, since other programs insert jobs
// by SQL.
type args struct {
	V       int             `json:"v"` // 1
	ID      string          `json:"id"`
	Request json.RawMessage `json:"request"`
	// First is the attempt that was queued with the job; earlier ones are of other submissions. Without it, it is the
	// attempt found queued by the job's first worker.
	First int `json:"first,omitempty"`
	// Last is the attempt queued last for the job, if not First. Later ones belong to other jobs.
	Last    int  `json:"last,omitempty"`
	Retries *int `json:"retries,omitempty"` // nil: queue.DefaultRetries
	NoAudit bool `json:"no_audit,omitempty"`
	// Require are labels that its worker must have.
	Require map[string]string `json:"require,omitempty"`
	// Digest is the digest of the request, without id and labels.
	Digest string `json:"digest,omitempty"`
	// Trace is a queue.Trace, read separately: an invalid one is ignored.
	Trace json.RawMessage `json:"trace,omitempty"`

	unread error // why they could not be read
}

const argsVersion = 1

// Kind is the kind of these jobs in River.
func (args) Kind() string { return kind }

// UnmarshalJSON reads what it can and stores the error of the rest: River would retry such a job forever and its row would
// wait forever.
func (a *args) UnmarshalJSON(raw []byte) error {
	type plain args
	err := json.Unmarshal(raw, (*plain)(a))
	if err == nil && a.V < 1 {
		err = fmt.Errorf("version %d", a.V)
	}
	if err != nil {
		var id struct{ ID string }
		_ = json.Unmarshal(raw, &id) // without it no row waits
		*a = args{ID: id.ID, unread: err}
	}
	return nil
}

func argsOf(s queue.Submission) (args, error) {
	digest, err := digestOf(s.Run.Request)
	a := args{
		V: argsVersion, ID: s.Run.ID, Request: s.Run.Request, First: s.Run.Attempt, Retries: &s.Retries, NoAudit: s.NoAudit,
		Require: s.Require, Digest: digest,
	}
	if err == nil && s.Trace != (queue.Trace{}) {
		a.Trace, err = json.Marshal(s.Trace)
	}
	return a, err
}

// digestOf is the same for requests that differ only in ids, labels and written-out defaults.
func digestOf(request json.RawMessage) (string, error) {
	var asked spec.Analysis
	if err := json.Unmarshal(request, &asked); err != nil {
		return "", fmt.Errorf("the request: %w", err)
	}
	asked = asked.WithDefaults()
	asked.ID, asked.Labels = "", nil
	plain, err := json.Marshal(asked)
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:]), err
}

// job converts the args. A request that is unreadable or not allowed gets the defaults of an analysis; the worker that runs
// it refuses it.
func (a args) job() queue.Job {
	var asked spec.Analysis
	err := json.Unmarshal(a.Request, &asked)
	if asked = asked.WithDefaults(); err != nil || asked.Validate() != nil {
		asked = spec.Analysis{}.WithDefaults()
	}
	job := queue.Job{
		ID: a.ID, Request: a.Request, Memory: int64(asked.Memory), CPUs: asked.CPUs,
		Limit: time.Duration(asked.Timeout) + time.Duration(asked.Grace), Require: a.Require,
		Retries: queue.DefaultRetries, NoAudit: a.NoAudit,
	}
	if json.Unmarshal(a.Trace, &job.Trace) != nil {
		job.Trace = queue.Trace{}
	}
	if a.Retries != nil {
		job.Retries = *a.Retries
	}
	return job
}
