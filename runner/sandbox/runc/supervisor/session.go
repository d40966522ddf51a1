package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// session serves one connection, with at most one run. All sessions are concurrent. The end of the first connection, which
// the supervisor was started with, ends the supervisor; on it the launcher sends the others.
type session struct {
	launcher launcher
	run      *run
	tasks    sync.WaitGroup // all goroutines of the session
}

func newSession(c *protocol.Conn, tracer *trace.Tracer) *session {
	s := &session{launcher: launcher{conn: c, trace: tracer}}
	s.run = &run{launcher: s.launcher, tasks: &s.tasks}
	return s
}

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
		if err := newSession(c, nil).attend(); err != nil {
			exit(err)
		}
	}()
	return nil
}

// attend serves one run until its launcher ends it or dies, and returns when the run is cleaned up.
func (s *session) attend() error {
	defer s.launcher.conn.Close()
	s.launcher.tell(protocol.Message{Type: protocol.MsgReady})
	err := s.serve(func(m protocol.Message) error { return fmt.Errorf("unknown message %q", m.Type) })
	if !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("session: %w", err)
	}
	if err := s.close(); err != nil {
		return fmt.Errorf("end a run: %w", err)
	}
	s.launcher.tell(protocol.Message{Type: protocol.MsgEnded})
	return nil
}

// close ends the run in any state and frees its resources here. Its context has ended.
func (s *session) close() error {
	if err := s.run.end(); err != nil {
		return err
	}
	s.tasks.Wait()
	return s.run.close()
}

// serve answers the launcher until it disconnects; open opens another connection.
func (s *session) serve(open func(protocol.Message) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		m, err := s.launcher.conn.Receive()
		if err != nil {
			return err
		}
		switch {
		case m.Torn:
			err = errTorn
		case m.Type == protocol.MsgSession:
			err = open(m)
		case m.Type == protocol.MsgHarvest, m.Type == protocol.MsgClean: // slow; the end of the connection must still be noticed
			s.tasks.Go(func() { s.launcher.fail(s.handle(ctx, m)) })
		default:
			err = s.handle(ctx, m)
		}
		s.launcher.fail(err)
	}
}

// errTorn refuses a message with truncated descriptors: which ones are missing is unknown.
var errTorn = fmt.Errorf("the supervisor has no room for more runs: %w; see \"ulimit -n\"", unix.EMFILE)

// handle answers one message. Errors are sent as failed.
func (s *session) handle(ctx context.Context, m protocol.Message) error {
	switch m.Type {
	case protocol.MsgJob:
		return s.run.create(ctx, m.Job, m.Files)
	case protocol.MsgPrepare, protocol.MsgStart, protocol.MsgSuspend, protocol.MsgResume, protocol.MsgStop, protocol.MsgKill:
		return s.direct(ctx, m.Type)
	case protocol.MsgHarvest:
		return s.run.harvest(ctx, *m.Harvest, m.Files)
	case protocol.MsgClean:
		return s.run.clean(ctx, m.Clean.Keep, m.Files)
	default:
		return fmt.Errorf("unknown message %q", m.Type)
	}
}

// direct starts, suspends, resumes or ends the analysis. A run without a container is already ended.
func (s *session) direct(ctx context.Context, how string) error {
	a := s.run.analysis
	switch {
	case a == nil && (how == protocol.MsgStop || how == protocol.MsgKill):
		return nil
	case a == nil:
		return fmt.Errorf("%q came for a run without a container", how)
	}
	switch how {
	case protocol.MsgPrepare:
		return a.prepare(ctx)
	case protocol.MsgStart:
		return a.start(ctx)
	case protocol.MsgSuspend:
		a.pause.suspend()
	case protocol.MsgResume:
		a.pause.resume()
	case protocol.MsgStop:
		a.stop()
	case protocol.MsgKill:
		return a.kill()
	}
	return nil
}
