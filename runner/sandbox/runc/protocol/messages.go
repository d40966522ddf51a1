// Package protocol is what a launcher and its supervisor say to each other: the messages, and the connection that carries them. The
// values in them are those of the sandbox. Both are of one build, so that only sandbox.Exit, which the exit record keeps, is read by other
// versions.
package protocol

import (
	"errors"
	"os"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// The messages, in a run's order. The launcher sends job, prepare (only if a job has Ahead), start, suspend, resume, stop, kill, harvest and clean; the
// supervisor answers job with created, each other but stop with its past participle, and all of them with failed if it could not. A command
// that cannot be executed does not start: its end, exited, follows. An analysis that is being stopped is not suspended: suspend is answered with
// resumed. After exited neither is answered.
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
	Type    string           `json:"type"`
	Error   string           `json:"error,omitempty"`
	Job     *Job             `json:"job,omitempty"`
	Bulk    []int            `json:"bulk,omitempty"` // of the job
	Exit    *sandbox.Exit    `json:"exit,omitempty"`
	Usage   *sandbox.Usage   `json:"usage,omitempty"`
	Harvest *sandbox.Harvest `json:"harvest,omitempty"`
	Entries []outputs.Entry  `json:"entries,omitempty"`
	Totals  *outputs.Totals  `json:"totals,omitempty"`
	Clean   *Clean           `json:"clean,omitempty"`
	// At comes with started: when that was (clock.Boot).
	At time.Duration `json:"at,omitempty"`
	// Landlock comes with started: the version that holds the analysis, 0 where the kernel has none.
	Landlock int    `json:"landlock,omitempty"`
	Note     string `json:"note,omitempty"`
	// Binds comes with created.
	Binds sandbox.BindReport `json:"binds,omitzero"`
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

// Clean says whether the working directory's contents are removed or kept for the caller.
type Clean struct {
	Keep bool `json:"keep"`
}
