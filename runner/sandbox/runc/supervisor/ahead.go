package supervisor

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync/atomic"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/rootmount"
)

// early is what an analysis has that starts before its turn.
type early struct {
	note   *os.File // what the command says
	script *rootmount.Script
	ready  chan bool // whether it may go on as it is; nil before prepare

	unhooked atomic.Bool // the script may have been executed before its turn
}

// newEarly is nil where the analysis starts with its turn.
func (r *run) newEarly(note *os.File) (*early, error) {
	if note == nil {
		return nil, nil
	}
	script, err := r.area.HoldScript(r.job)
	return &early{note: note, script: script}, err
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
	pid, err := a.container.Pid()
	if err != nil {
		return err
	}
	if a.job.Script != nil {
		a.early.script.Watch(pid, a.job.Script.Path)
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
	note := a.readNote()
	a.early.ready <- sandbox.Ready(note)
	_ = a.launcher.reply(protocol.Message{Type: protocol.MsgPrepared, Note: note})
}

// readNote reads the note of a command that was started ahead. Without a word of the hook the interpreter may be executing the script
// already, where that is not empty yet: then it must not be executed a second time.
func (a *analysis) readNote() string {
	note, hooked := sandbox.ReadNote(a.early.note, sandbox.NoteMax, a.job.AheadWithin)
	if !hooked && a.early.script == nil {
		a.early.unhooked.Store(true)
		a.killNow()
	}
	if sandbox.Ready(note) {
		return cmp.Or(a.scriptRead(), note)
	}
	return note
}

// scriptRead is the note of a command that has read the script while that was empty; empty where it has not.
func (a *analysis) scriptRead() string {
	switch opened, err := a.early.script.Opened(); {
	case err != nil:
		return sandbox.Cold("whether an import reads the script is not known: " + err.Error())
	case opened:
		return sandbox.Cold("an import reads the script, which is empty before its turn")
	}
	return ""
}

// begin lets an analysis begin that was started before its turn: as it is, or anew.
func (e *early) begin(a *analysis) error {
	if e == nil {
		return nil
	}
	anew := e.ready == nil || !<-e.ready
	if err := e.script.Write(); err != nil {
		return errors.Join(err, a.kill())
	}
	a.container.Begin(anew)
	return nil
}

// mayHaveRun reports whether the interpreter may have executed the script before its turn.
func (e *early) mayHaveRun() bool { return e != nil && e.unhooked.Load() }

// close frees what an ended analysis has.
func (e *early) close() {
	if e != nil {
		e.note.Close()
		e.script.Close()
	}
}
