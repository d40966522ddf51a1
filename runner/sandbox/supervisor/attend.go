package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

// A supervisor serves one run per connection, all concurrently. The end of the first connection, which it was started
// with, ends the supervisor; on it the launcher sends the others.

// admit serves a further run, on the connection sent with m, until the launcher ends it.
func admit(m protocol.Message) error {
	if len(m.Files) != 1 {
		protocol.Discard(m.Files)
		return fmt.Errorf("a session came with %d descriptors", len(m.Files))
	}
	c, err := protocol.NewConn(m.Files[0])
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	go func() {
		// What cannot be ended here, the kernel ends with this process, and the other runs too.
		if err := (&worker{conn: c}).attend(); err != nil {
			exit(err)
		}
	}()
	return nil
}

// attend serves one run until its launcher ends it or dies, and returns when the run is cleaned up.
func (w *worker) attend() error {
	defer w.conn.Close()
	w.tell(protocol.Message{Type: protocol.MsgReady})
	err := w.serve(func(m protocol.Message) error { return fmt.Errorf("unknown message %q", m.Type) })
	if !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("session: %w", err)
	}
	if err := w.close(); err != nil {
		return fmt.Errorf("end a run: %w", err)
	}
	w.tell(protocol.Message{Type: protocol.MsgEnded})
	return nil
}

// serve answers the launcher until it disconnects; session opens another connection.
func (w *worker) serve(session func(protocol.Message) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		m, err := w.conn.Receive()
		if err != nil {
			return err
		}
		switch {
		case m.Torn:
			err = errTorn
		case m.Type == protocol.MsgSession:
			err = session(m)
		case m.Type == protocol.MsgHarvest, m.Type == protocol.MsgClean: // slow; the end of the connection must still be noticed
			w.tasks.Go(func() { w.answer(w.handle(ctx, m)) })
		default:
			err = w.handle(ctx, m)
		}
		w.answer(err)
	}
}

// errTorn refuses a message with truncated descriptors: which ones are missing is unknown.
var errTorn = fmt.Errorf("the supervisor has no room for more runs: %w; see \"ulimit -n\"", unix.EMFILE)

// answer reports a failure to the launcher.
func (w *worker) answer(err error) {
	if err != nil {
		w.tell(protocol.Message{Type: protocol.MsgFailed, Error: err.Error(), Spans: w.trace.Take()})
	}
}

// close ends a run in any state and frees its resources here. Its context has ended.
func (w *worker) close() error {
	if err := w.endContainer(); err != nil {
		return err
	}
	w.tasks.Wait()
	if w.container != nil {
		w.container.Close()
	}
	protocol.Discard([]*os.File{w.work, w.disk, w.ingest, w.hold, w.proc})
	return w.area.Remove()
}

// endContainer kills every process of the run and waits for its end.
func (w *worker) endContainer() error {
	if w.container == nil {
		return nil
	}
	if err := w.kill(); err != nil || w.watched {
		return err
	}
	defer close(w.ended)
	_, err := w.container.Wait(container.Watch{}) // it waits at its gate
	return errors.Join(err, w.container.Destroy())
}
