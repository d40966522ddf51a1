package supervisor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

// newNote makes the pipe on which a command that is started ahead says what it is ready with; nil where it is not.
func newNote(job *protocol.Job) (read, write *os.File, err error) {
	if job.Ahead == nil {
		return nil, nil, nil
	}
	return os.Pipe()
}

// prepare starts the command before the analysis may begin, and answers when that is ready or of no use.
func (a *analysis) prepare(ctx context.Context) error {
	if a.note == nil {
		return errors.New("prepare came for a run that is not started ahead")
	}
	a.watchdog = a.watchBounds(ctx) // the bounds of /work hold for imports too
	if err := a.open(ctx); err != nil {
		return err
	}
	a.ready = make(chan bool, 1)
	a.tasks.Go(func() {
		note := a.readNote()
		a.ready <- isReady(note)
		a.launcher.tell(protocol.Message{Type: protocol.MsgPrepared, Note: note})
	})
	return nil
}

func isReady(note string) bool {
	first, _, _ := strings.Cut(note, "\n")
	return first == protocol.NoteReady
}

// readNote returns what the command says up to a NUL, since a process that it has left may hold the pipe; nothing where it has
// died.
func (a *analysis) readNote() string {
	_ = a.note.SetReadDeadline(time.Now().Add(a.job.AheadWithin)) // a pipe can always have one
	note, err := bufio.NewReader(io.LimitReader(a.note, protocol.NoteMax)).ReadString(0)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return protocol.NoteLate
	}
	return strings.TrimSuffix(note, "\x00")
}
