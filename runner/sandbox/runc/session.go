package runc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// session is the launcher's side of one run in a supervisor. Operations on the run are in run.go.
type session struct {
	conn    *protocol.Conn
	process *process
	own     bool          // the supervisor's own: its end ends all
	ended   chan struct{} // closed by Close
	exit    *sandbox.Exit // of a container that ended before its analysis began; else nil
	once    sync.Once     // of Close
	trace   *trace.Tracer // nil: nothing is traced

	reading sync.Mutex
	left    bool // the supervisor has cleaned up the run
}

// errLeft is returned to pending receives after Close.
var errLeft = errors.New("the session has ended")

// receive returns the next message. Close may be called concurrently.
func (s *session) receive() (protocol.Message, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.left {
		return protocol.Message{}, errLeft
	}
	m, err := s.conn.Receive()
	s.trace.Add(m.Spans...)
	if err == nil && m.Type == protocol.MsgEnded {
		s.left = true
		return m, errLeft
	}
	return m, err
}

func newSession(c *protocol.Conn, p *process, own bool) *session {
	return &session{conn: c, process: p, own: own, ended: make(chan struct{})}
}

// Open opens a further session: runs in one supervisor share its process, but nothing visible to them. It ends with
// Close, the supervisor, or the launcher, whichever ends first. It is safe for concurrent use.
func (s *supervisor) Open() (sandbox.Session, error) {
	c, theirs, err := protocol.Pair()
	if err != nil {
		return nil, err
	}
	err = s.conn.Send(protocol.Message{Type: protocol.MsgSession}, theirs)
	theirs.Close() // now only the supervisor has it, so that its close is noticed
	if err != nil {
		return nil, errors.Join(s.lost(err), c.Close())
	}
	if m, err := c.Receive(); err != nil || m.Type != protocol.MsgReady {
		return nil, errors.Join(s.refused(), c.Close()) // the supervisor has nothing of it
	}
	return newSession(c, s.process, false), nil
}

// refused is why a session ended before its first message: the supervisor reports that on its own connection, or is dead.
// The order in which its connections end proves nothing.
func (s *supervisor) refused() error {
	s.refusals.Lock()
	defer s.refusals.Unlock()
	_, err := s.expect(protocol.MsgFailed)
	return err
}

// Close ends the run, and waits until all its processes are dead and the supervisor has cleaned up. On a supervisor it
// ends the process, and with it all sessions. Further calls do nothing.
func (s *session) Close() (err error) {
	s.once.Do(func() {
		defer close(s.ended)
		if s.own || !s.leave() {
			_ = s.process.handle.Kill() // it may have ended
			<-s.process.done
		}
		err = s.conn.Close()
	})
	<-s.ended
	return err
}

// leave ends a session and discards messages until the run is cleaned up. It returns false if the supervisor is dead or
// sends invalid messages.
func (s *session) leave() bool {
	s.conn.CloseWrite()
	for {
		m, err := s.receive()
		if errors.Is(err, errLeft) {
			_, _ = s.conn.Receive() // the end: its side is closed too
			return true
		}
		if err != nil {
			return false
		}
		protocol.Discard(m.Files)
	}
}

// Alive reports whether both the session and the supervisor's process are alive.
func (s *session) Alive() bool {
	select {
	case <-s.process.done:
		return false
	case <-s.ended:
		return false
	default:
		return !s.conn.HungUp(0) // it may not have been reaped yet
	}
}

// Died waits for the end of the session or the supervisor, at most for the time given, and reports whether it came.
func (s *session) Died(within time.Duration) bool { return !s.Alive() || s.conn.HungUp(within) }

// expect receives the next message and checks its type.
func (s *session) expect(kind string) (protocol.Message, error) {
	m, err := s.receive()
	switch {
	case err != nil:
		return m, s.lost(err)
	case m.Type == protocol.MsgFailed:
		return m, errors.New(m.Error)
	case m.Torn:
		return m, fmt.Errorf("this process has no room for what a run needs: %w; see \"ulimit -n\"", unix.EMFILE)
	case m.Type != kind:
		protocol.Discard(m.Files)
		return m, fmt.Errorf("the supervisor said %q, and %q was due", m.Type, kind)
	}
	return m, nil
}

// lost turns the connection's end into sandbox.ErrLost with the supervisor's last output.
func (s *session) lost(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		return err
	}
	<-s.process.done
	if words := strings.TrimSpace(s.process.last.String()); words != "" {
		return fmt.Errorf("%w: %s", sandbox.ErrLost, words)
	}
	return sandbox.ErrLost
}
