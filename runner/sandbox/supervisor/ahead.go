package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/forks"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/rootmount"
)

// early is what an analysis has that starts before its turn.
type early struct {
	origin  *forks.Origin // what it is forked from; nil: its command is started
	note    *os.File      // what a command says that is started ahead
	script  *rootmount.Script
	streams []*os.File    // of an analysis that may be forked
	rules   *os.File      // of Landlock, for what is forked; nil: the kernel has none
	waits   chan struct{} // closed when an analysis can be forked into the container
	ready   chan bool     // whether it may go on as it is; nil before prepare
	fork    *forks.Fork   // nil: none

	unhooked atomic.Bool // the script may have been executed before its turn
}

// newEarly is nil where the analysis starts with its turn.
func (r *run) newEarly(note *os.File) (*early, error) {
	switch {
	case r.job.Forked:
		return &early{origin: r.origin, waits: make(chan struct{})}, nil
	case note != nil:
		script, err := r.area.HoldScript(r.job)
		return &early{note: note, script: script}, err
	}
	return nil, nil
}

// newNote makes the pipe on which a command that is started ahead says what it is ready with; nil where it is not.
func newNote(job *protocol.Job) (read, write *os.File, err error) {
	if job.Ahead == nil {
		return nil, nil, nil
	}
	return os.Pipe()
}

// prepare starts the command before the analysis may begin, and answers when that is ready or of no use.
func (a *analysis) prepare(ctx context.Context) error {
	if a.early == nil {
		return errors.New("prepare came for a run that is not started ahead")
	}
	a.watchdog = a.watchBounds(ctx) // the bounds of /work hold for imports too
	if err := a.open(ctx); err != nil {
		return err
	}
	a.early.ready = make(chan bool, 1)
	a.tasks.Go(a.await)
	return nil
}

// await answers when the command is ready or of no use.
func (a *analysis) await() {
	note := ""
	if a.early.origin != nil {
		note = a.takeFork()
	} else {
		note = a.readNote()
	}
	a.early.ready <- protocol.Ready(note)
	_ = a.launcher.reply(protocol.Message{Type: protocol.MsgPrepared, Note: note}, a.early.fork.Files()...)
}

// readNote reads the note of a command that was started ahead. Without a word of the hook the interpreter may be executing the script
// already, where that is not empty yet: then it must not be executed a second time.
func (a *analysis) readNote() string {
	note, hooked := protocol.ReadNote(a.early.note, protocol.NoteMax, a.job.AheadWithin)
	if !hooked && a.early.script == nil {
		a.early.unhooked.Store(true)
		a.killNow()
	}
	return note
}

// takeFork forks the analysis into the container, and returns its note.
func (a *analysis) takeFork() (note string) {
	defer func() { protocol.Discard(append(a.early.streams, a.early.rules)) }()
	select {
	case <-a.early.waits:
	case <-a.ended:
		return ""
	}
	a.early.fork, note = a.early.origin.Take(forks.Target{
		Container: a.container, Proc: a.proc.Name(), Process: a.job.Spec.Process, Owner: a.job.Owner,
		Streams: a.early.streams, Audit: a.audit, Rules: a.early.rules, Landlock: a.landlock,
	})
	return note
}

// begin lets an analysis begin that was started before its turn: as it is, or anew.
func (e *early) begin(a *analysis) error {
	if e == nil {
		return nil
	}
	anew := e.ready == nil || !<-e.ready
	if err := errors.Join(unproved(e.fork.Undisturbed()), e.script.Write()); err != nil {
		return errors.Join(err, a.kill())
	}
	a.container.Begin(anew)
	return nil
}

// unproved is why an analysis that was forked is not run, or not recorded.
func unproved(why error) error {
	if why == nil {
		return nil
	}
	return fmt.Errorf("what was forked from a template is not as it must be: %w; run it again with --warm none", why)
}

// taken is the fork; nil: none.
func (e *early) taken() *forks.Fork {
	if e == nil {
		return nil
	}
	return e.fork
}

// mayHaveRun reports whether the interpreter may have executed the script before its turn.
func (e *early) mayHaveRun() bool { return e != nil && e.unhooked.Load() }

// close frees what an ended analysis has.
func (e *early) close() {
	if e != nil {
		e.note.Close()
		e.script.Close()
		protocol.Discard(append(e.streams, e.rules))
	}
}
