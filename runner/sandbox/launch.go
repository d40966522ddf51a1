// Package sandbox holds the outer namespaces of a launcher: it starts the supervisor in them, gives it
// ids, speaks the protocol between the two, and is the supervisor's loop, the one place that joins
// container and harvest.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/spawn"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// supervisorName is the argv[0] by which Main knows its part.
const supervisorName = "scidex-oci: supervisor"

// outerNamespaces of a supervisor.
const outerNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS

// ErrLost is returned when the supervisor died under the launcher.
var ErrLost = errors.New("the supervisor is gone")

// Supervisor is the launcher's side of a supervisor, and of the run that it serves on its own connection: the
// embedded Session.
type Supervisor struct {
	*Session
	account  Account
	refusals sync.Mutex // of sessions: one message for each
	slow     error      // see Slow
}

// Slow is why the supervisor is this program once more, although one of its own lies beside it (docs/adr/0019); nil where
// that is as it should be. Nothing but time is lost by it.
func (s *Supervisor) Slow() error { return s.slow }

// host is the process of a supervisor.
type host struct {
	process *os.Process
	done    chan struct{} // closed when it has ended, and with it all that was below it
	killed  bool          // then: by a signal
	last    *tail
}

// Launch starts a supervisor and waits until it is ready. It ends with Close, with the launcher, or with
// the thread that started it, whichever comes first.
func Launch(ctx context.Context, account Account) (*Supervisor, error) {
	c, end, err := socketPair()
	if err != nil {
		return nil, err
	}
	program := chooseProgram()
	defer program.close()
	s := &Supervisor{
		Session: newSession(c, &host{done: make(chan struct{}), last: &tail{}}, true),
		account: account, slow: program.slow,
	}
	s.trace = trace.From(ctx)
	child, err := s.clone(end)
	end.Close() // now only the supervisor has it, so that its death before it is ready is heard at once
	if err != nil {
		return nil, errors.Join(launchError(err), c.Close())
	}
	if err := s.begin(ctx, child, program); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// clone makes the process, which waits. Its parent-death signal belongs to the thread that made it
// (PR_SET_PDEATHSIG(2const)), so this thread waits for it and does nothing else.
func (s *Supervisor) clone(end *os.File) (child *spawn.Child, err error) {
	defer s.trace.Span(trace.Start, "clone it")()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	cloned := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(s.host.done)
		defer read.Close()
		child, err = spawn.Clone(outerNamespaces, null, null, write, end)
		if err != nil {
			close(cloned)
			return
		}
		s.host.process = child.Process
		close(cloned)
		_, _ = io.Copy(s.host.last, read)  // to the end of all that have it
		state, err := child.Process.Wait() // why it ended by itself is in what it wrote
		s.host.killed = err == nil && !state.Exited()
	}()
	<-cloned
	return child, err
}

// begin lets the process be a supervisor, and waits until it is one that is ready.
func (s *Supervisor) begin(ctx context.Context, child *spawn.Child, program program) error {
	// Without a bound one that hangs, or newuidmap, would hang the launcher, before it listens to anybody.
	ctx, cancel := context.WithTimeoutCause(ctx, readyWait, errNotReady)
	defer cancel()
	if err := s.trace.Do(trace.Start, "map its ids", func() error { return s.account.WriteMaps(ctx, s.Pid()) }); err != nil {
		err = errors.Join(err, child.Close())
		<-s.host.done
		if s.host.killed { // it has no ids because it is dead
			return s.lost(io.EOF)
		}
		return err
	}
	err := s.trace.Do(trace.Start, "execute it", func() error {
		args := append([]string{supervisorName}, traceArgs(s.trace != nil)...)
		return program.named(child.Execute(program.path, args, s.account.Root() && s.account.HasRange()))
	})
	if err != nil {
		return launchError(s.lost(err))
	}
	return s.await(ctx)
}

// await waits for its first word.
func (s *Supervisor) await(ctx context.Context) error {
	defer s.trace.Span(trace.Start, "wait until it is ready")()
	cut := context.AfterFunc(ctx, func() { _ = s.conn.sock.SetReadDeadline(time.Now()) })
	_, err := s.expect(msgReady)
	if !cut() { // the deadline may have come after the word, and before it is of no use any more
		return context.Cause(ctx)
	}
	return err
}

// readyWait is how long a supervisor may take to get ready: ten thousand times what it takes on a host that has nothing else to
// do. Of 500 that were started at once on two cores, 45 took longer than a minute.
const readyWait = 10 * time.Minute

var errNotReady = fmt.Errorf("the supervisor was not ready within %v", readyWait)

// Pid is the supervisor's process id as the launcher sees it.
func (s *Supervisor) Pid() int { return s.host.process.Pid }

// tail keeps the last bytes that a supervisor wrote to its standard error.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 8 << 10 // bytes

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
