// Package protocol is what a launcher and its supervisor say to each other: the messages, the values in them, and the
// connection that carries them. Both are of one build, so that only Exit, which the exit record keeps, is read by other versions.
package protocol

import (
	"errors"
	"os"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// The messages, in a run's order. The launcher sends job, prepare (only where a job has Ahead), start, suspend, resume, stop, kill, harvest and clean; the
// supervisor answers each but stop with its past participle, or with failed. An analysis that is being stopped is not
// suspended: suspend is answered with resumed. After exited neither is answered.
const (
	MsgReady     = "ready"
	MsgJob       = "job"
	MsgCreated   = "created" // with pidfd, standard output, standard error, and the socket of Job.Listen
	MsgPrepare   = "prepare"
	MsgPrepared  = "prepared" // with Note
	MsgStart     = "start"
	MsgStarted   = "started"
	MsgUsage     = "usage"
	MsgSuspend   = "suspend"
	MsgSuspended = "suspended" // with an error if something still runs
	MsgResume    = "resume"
	MsgResumed   = "resumed"
	MsgStop      = "stop"
	MsgKill      = "kill"
	MsgKilled    = "killed" // the supervisor has killed the analysis, unasked or as asked; before exited
	MsgExited    = "exited"
	MsgHarvest   = "harvest"
	MsgEntries   = "entries"
	MsgHarvested = "harvested"
	MsgClean     = "clean" // with the working directory
	MsgCleaned   = "cleaned"
	MsgSession   = "session" // with the supervisor's end of another run's connection; answered there with ready
	MsgEnded     = "ended"   // the last of a session, after the launcher shut down its side
	MsgFailed    = "failed"
)

// Message is one message; most fields belong to one type.
type Message struct {
	Type    string          `json:"type"`
	Error   string          `json:"error,omitempty"`
	Job     *Job            `json:"job,omitempty"`
	Bulk    []int           `json:"bulk,omitempty"` // of the job
	Exit    *Exit           `json:"exit,omitempty"`
	Usage   *Usage          `json:"usage,omitempty"`
	Harvest *Harvest        `json:"harvest,omitempty"`
	Entries []outputs.Entry `json:"entries,omitempty"`
	Totals  *outputs.Totals `json:"totals,omitempty"`
	Clean   *Clean          `json:"clean,omitempty"`
	// At comes with started: when that was (clock.Boot).
	At time.Duration `json:"at,omitempty"`
	// Landlock comes with started: the version that holds the analysis, 0 where the kernel has none.
	Landlock int    `json:"landlock,omitempty"`
	Note     string `json:"note,omitempty"`
	// Walls comes with created.
	Walls Walls `json:"walls,omitzero"`
	// Spans are the supervisor's trace since its last message.
	Spans []trace.Span `json:"spans,omitempty"`

	Files []*os.File `json:"-"` // sent with it
	Torn  bool       `json:"-"` // descriptors were lost: the process is at its limit (recvmsg(2), MSG_CTRUNC)
}

// Failure returns the reported error, if any.
func (m Message) Failure() error {
	if m.Error == "" {
		return nil
	}
	return errors.New(m.Error)
}

// Harvest configures the harvest.
type Harvest struct {
	Bounds  outputs.Bounds `json:"bounds"`
	Exclude []string       `json:"exclude,omitempty"`
	Partial bool           `json:"partial"`
	Names   int64          `json:"names,omitempty"` // see outputs.Options
	// Link says that the working directory is removed afterwards, so its files need no copy.
	Link bool `json:"link"`
	// Resumed and Links are for a run whose supervisor is dead: see outputs.Options. Below is the name of its working
	// directory, which the launcher may not be able to reach.
	Below   string            `json:"below,omitempty"`
	Resumed bool              `json:"resumed,omitempty"`
	Links   map[string]string `json:"links,omitempty"`
}

// Clean says whether the working directory's contents are removed or kept for the caller.
type Clean struct {
	Keep bool `json:"keep"`
}
