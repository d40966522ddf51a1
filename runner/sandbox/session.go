package sandbox

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// Session is the launcher's side of one run in a supervisor. What it does to the run is in run.go.
type Session struct {
	conn  *conn
	host  *host
	own   bool          // the supervisor's: its end is that of all
	ended chan struct{} // closed by Close
	once  sync.Once     // of Close
	trace *trace.Tracer // nil: nothing is traced

	reading sync.Mutex
	left    bool // the supervisor has nothing of the run any more
}

// errLeft is what is received after Close, by whoever still waits.
var errLeft = errors.New("the session has ended")

// receive returns the next message. Close may be called while somebody waits for one.
func (s *Session) receive() (message, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.left {
		return message{}, errLeft
	}
	m, err := s.conn.receive()
	s.trace.Add(m.Spans...)
	if err == nil && m.Type == msgEnded {
		s.left = true
		return m, errLeft
	}
	return m, err
}

func newSession(c *conn, h *host, own bool) *Session {
	return &Session{conn: c, host: h, own: own, ended: make(chan struct{})}
}

// Open opens a further session: runs in one supervisor share its process and nothing that they could see. It ends
// with Close, with the supervisor, or with the launcher, whichever comes first. It may be called from many goroutines.
func (s *Supervisor) Open() (*Session, error) {
	c, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	err = s.conn.send(message{Type: msgSession}, theirs)
	theirs.Close() // now only the supervisor has it, so that the end of one that it gives up is heard
	if err != nil {
		return nil, errors.Join(s.lost(err), c.Close())
	}
	if m, err := c.receive(); err != nil || m.Type != msgReady {
		return nil, errors.Join(s.refused(), c.Close()) // of which the supervisor has nothing
	}
	return newSession(c, s.host, false), nil
}

// refused is why a session ended before its first word: the supervisor tells that on its own connection, or is dead.
// Which connections of a dead one end first is nothing to judge by.
func (s *Supervisor) refused() error {
	s.refusals.Lock()
	defer s.refusals.Unlock()
	_, err := s.expect(msgFailed)
	return err
}

// Close ends the run, and waits until every process of it is dead and the supervisor has nothing of it any more. Of a
// supervisor itself it ends the process, and with that all its sessions. Further calls do nothing.
func (s *Session) Close() (err error) {
	s.once.Do(func() {
		defer close(s.ended)
		if s.own || !s.leave() {
			_ = s.host.process.Kill() // it may be gone already
			<-s.host.done
		}
		err = s.conn.Close()
	})
	<-s.ended
	return err
}

// leave ends a session, and passes over what is still said of the run until nothing is left of it. It returns false
// where the supervisor is dead, or does not make sense.
func (s *Session) leave() bool {
	_ = s.conn.sock.CloseWrite() // fails where nobody is there any more
	for {
		m, err := s.receive()
		if errors.Is(err, errLeft) {
			_, _ = s.conn.receive() // the end: of the connection it has nothing either
			return true
		}
		if err != nil {
			return false
		}
		discard(m.files)
	}
}

// Alive reports whether neither the session nor the supervisor's process has ended.
func (s *Session) Alive() bool {
	select {
	case <-s.host.done:
		return false
	case <-s.ended:
		return false
	default:
		return !s.conn.hungUp() // it may not have been waited for yet
	}
}

// Died waits for the end of the session or of the supervisor, at most for the time given, and reports whether it came.
func (s *Session) Died(within time.Duration) bool {
	for deadline := time.Now().Add(within); s.Alive(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// expect receives the next message, which must be of the type.
func (s *Session) expect(kind string) (message, error) {
	m, err := s.receive()
	switch {
	case err != nil:
		return m, s.lost(err)
	case m.Type == msgFailed:
		return m, errors.New(m.Error)
	case m.torn:
		return m, fmt.Errorf("this process has no room for what a run needs: %w; see \"ulimit -n\"", unix.EMFILE)
	case m.Type != kind:
		discard(m.files)
		return m, fmt.Errorf("the supervisor said %q where %q was due", m.Type, kind)
	}
	return m, nil
}

// lost turns the end of the connection into ErrLost with the supervisor's last words.
func (s *Session) lost(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		return err
	}
	<-s.host.done
	if words := s.host.last.String(); words != "" {
		return fmt.Errorf("%w: %s", ErrLost, words)
	}
	return ErrLost
}
