// Package sandbox is what a run knows of the sandbox that its analysis is in: a Supervisor serves many runs, each by a Session. It promises
// that nothing of an analysis begins before Start, that the analysis sees and reaches only what its Job has, that all its processes are
// dead when Wait or Close has returned, and that every entry of its working directory has a verdict from Harvest. It hides how:
// namespaces, mounts, filters, and the processes that hold them.
//
// An implementation is a package below this one that passes the suite in sandboxtest, and runner/warm chooses it; there is one, runc. The
// control group is no part of it: the run makes one for any sandbox, by which it limits, counts and kills, and proves that what the sandbox
// says of the end is true. So everything of an analysis descends from one process, Created.Pid, which the run moves into its group before
// Start.
package sandbox

import (
	"errors"
	"os"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// ErrLost is returned when the supervisor has died. All that its sessions ran is dead then too, and what only it knew is lost.
var ErrLost = errors.New("the supervisor is gone")

// Supervisor is a process that starts, watches and ends what runs have in it, and holds no credentials. It is also the Session of the
// run that it was started for, if no other run uses it: closing it ends all of them.
type Supervisor interface {
	Session
	// Open opens a session for a further run. It is safe for concurrent use.
	Open() (Session, error)
	// Pid is the supervisor's process id as this process sees it.
	Pid() int
	// Slow says why it starts runs slower than it could; nil if it does not.
	Slow() error
}

// Session is one run in a supervisor. The calls of a run come in this order, those from Suspend to Kill at any time after Create, and Alive
// and Died at any time. Sessions share nothing that an analysis can see, and the end of one is not that of another.
type Session interface {
	// Create makes a container for the job and holds it before its first instruction.
	Create(job Job) (*Created, error)
	// Prepare starts the command of a job with Ahead before its turn, and returns its note when it is ready or of no use: see NoteReady. If
	// the container ends before, the note is empty, and Wait returns the end.
	Prepare() (note string, err error)
	// Start lets the analysis begin.
	Start() error
	// Suspend requests to stop all processes of the analysis and its clock, Resume to continue them. Watch has the answers.
	Suspend() error
	Resume() error
	// Stop sends SIGTERM, and SIGKILL when the job's grace period is over.
	Stop() error
	// Kill ends the analysis at once.
	Kill() error
	// Wait calls watch while the analysis runs, and returns how it ended when all its processes are dead.
	Wait(watch Watch) (Exit, error)
	// Harvest reads a working directory that nothing writes to any more into the ingest directory, and yields every entry with a verdict. It
	// returns the first error of yield, and no further entries are yielded.
	Harvest(h Harvest, yield func(outputs.Entry) error) (outputs.Totals, error)
	// Clean removes everything below a working directory, or, with keep, gives it back to who owned it before Create, who may then read
	// and write it. It needs no job. It returns what was in memory and could not be kept, at most a few hundred entries. If ingest is not
	// nil, kept files otherwise get back the modes that they had before the harvest into it.
	Clean(dir *os.File, keep bool, ingest *os.File) (lost []outputs.Entry, err error)
	// Close kills what still runs, waits until it is dead and frees what the run has in the supervisor. Further calls do nothing.
	Close() error
	// Alive reports whether neither the session nor the supervisor has ended.
	Alive() bool
	// Died waits for the end of either, at most for the time given, and reports whether it came.
	Died(within time.Duration) bool
}

// Created is a container that waits for Start.
type Created struct {
	// Pid is that of the first process, in this process's namespace: everything of the analysis will descend from it.
	Pid            int
	Stdout, Stderr *os.File // read ends
	Walls          Walls
	Binds          BindReport
	// Listener is the socket of Job.Listen; nil: none.
	Listener *os.File
}

// Walls are what keeps an analysis in every container of this sandbox, in the words of result.Sandbox. What may differ from one container
// to the next is in BindReport, Watch and Exit.
type Walls struct {
	UserNamespace bool
	Network       string
	Seccomp       string
}

// Close closes what is still open.
func (c *Created) Close() error {
	return errors.Join(c.Stdout.Close(), c.Stderr.Close(), c.LetGo())
}

// LetGo closes the listening socket, which a process of its own has then, or none.
func (c *Created) LetGo() error {
	if c.Listener == nil {
		return nil
	}
	defer func() { c.Listener = nil }()
	return c.Listener.Close()
}

// Watch receives events of a running analysis.
type Watch struct {
	// Landlock is called before Started with the version of Landlock that holds the analysis, 0 if none does; nil: not called.
	Landlock func(version int)
	Started  func(at time.Time)
	Usage    func(Usage)
	// Suspended and Resumed answer Suspend and Resume; Resumed is also called when the analysis is being stopped. The
	// error says what could not be stopped.
	Suspended func(error)
	Resumed   func()
	// Killed is called when the supervisor kills the analysis; nil: not called. It must not block.
	Killed func()
}

// Harvest says what is harvested, and how.
type Harvest struct {
	Bounds  outputs.Bounds `json:"bounds"`
	Exclude []string       `json:"exclude,omitempty"`
	Partial bool           `json:"partial"`
	Names   int64          `json:"names,omitempty"` // see outputs.Options
	// Link says that the working directory is removed afterwards, so its files need no copy.
	Link bool `json:"link"`
	// Left is the working directory of a run whose supervisor is dead; nil: that of the session's own run.
	Left *Left `json:"left,omitempty"`
}

// Left is what a run has left whose supervisor is dead. It needs no job.
type Left struct {
	Dir    *os.File `json:"-"` // has the working directory
	Ingest *os.File `json:"-"`
	// Below is the working directory's name in Dir: the caller may not be able to open it.
	Below string `json:"below"`
	// Links are those of its job.
	Links map[string]string `json:"links,omitempty"`
}
