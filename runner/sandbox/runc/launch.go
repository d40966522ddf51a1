// Package runc is the sandbox of Linux's namespaces, by libcontainer, the library of runc: Launch starts a supervisor in outer namespaces
// of its own and gives it ids, and each session there makes one container in them. This is the launcher's side; the supervisor's
// is in runner/sandbox/runc/supervisor, what they say to each other in runner/sandbox/runc/protocol.
package runc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/host/spawn"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// outerNamespaces of a supervisor.
const outerNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS

// supervisor is the launcher's side of a supervisor, and of the run on its own connection: the embedded session.
type supervisor struct {
	*session
	refusals sync.Mutex // one message per refused session
	slow     error      // see Slow
}

// Slow says why the supervisor is this program, although its own program is in the same directory (docs/adr/0019); nil if that is
// as intended. It costs only time.
func (s *supervisor) Slow() error { return s.slow }

// lastSize is how much of the end of a supervisor's standard error is kept, in bytes.
const lastSize = 8 << 10

// process is what the sessions of a supervisor share: its process.
type process struct {
	account idmap.Account
	handle  *os.Process
	done    chan struct{}   // closed when it and all its descendants have ended
	killed  bool            // then: by a signal
	last    *bounded.Buffer // the end of its standard error
}

// Launch starts a supervisor and waits until it is ready. It ends with Close, the launcher, or the thread that started
// it, whichever ends first.
func Launch(ctx context.Context, account idmap.Account) (sandbox.Supervisor, error) {
	c, end, err := protocol.Pair()
	if err != nil {
		return nil, err
	}
	program := chooseProgram()
	defer program.close()
	s := &supervisor{
		session: newSession(c, &process{account: account, done: make(chan struct{}), last: bounded.Tail(lastSize)}, true),
		slow:    program.slow,
	}
	s.trace = trace.From(ctx)
	child, err := s.clone(end)
	end.Close() // now only the supervisor has it, so its death before it is ready is noticed at once
	if err != nil {
		return nil, errors.Join(remedies.LaunchError(err), c.Close())
	}
	if err := s.begin(ctx, child, program); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// clone starts the process, which waits. Its parent-death signal is tied to the thread that made it
// (PR_SET_PDEATHSIG(2const)), so this thread only waits for it.
func (s *supervisor) clone(end *os.File) (child *spawn.Child, err error) {
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
		defer close(s.process.done)
		defer read.Close()
		child, err = spawn.Clone(outerNamespaces, null, null, write, end)
		if err != nil {
			close(cloned)
			return
		}
		s.process.handle = child.Process
		close(cloned)
		_, _ = io.Copy(s.process.last, read) // until all holders close it
		state, err := child.Process.Wait()   // its output says why it ended
		s.process.killed = err == nil && !state.Exited()
	}()
	<-cloned
	return child, err
}

// begin lets the process run as a supervisor, and waits until it is ready.
func (s *supervisor) begin(ctx context.Context, child *spawn.Child, program program) error {
	// HostGID translates a gid of the outer namespace to the host's.
	ctx, cancel := context.WithTimeoutCause(ctx, readyWait, errNotReady)
	defer cancel()
	if err := s.trace.Do(trace.Start, "map its ids", func() error { return s.process.account.WriteMaps(ctx, s.Pid()) }); err != nil {
		err = errors.Join(err, child.Close())
		<-s.process.done
		if s.process.killed { // no ids, since it is dead
			return s.lost(io.EOF)
		}
		return err
	}
	err := s.trace.Do(trace.Start, "execute it", func() error {
		args := protocol.Arguments(s.trace != nil)
		return program.named(child.Execute(program.path, args, s.process.account.Root() && s.process.account.HasRange()))
	})
	if err != nil {
		return remedies.LaunchError(s.lost(err))
	}
	return s.await(ctx)
}

// await waits until it is ready.
func (s *supervisor) await(ctx context.Context) error {
	defer s.trace.Span(trace.Start, "wait until it is ready")()
	cut := context.AfterFunc(ctx, s.conn.Interrupt)
	_, err := s.expect(protocol.MsgReady)
	if !cut() { // the deadline may have passed since the message came
		return context.Cause(ctx)
	}
	return err
}

// readyWait bounds a supervisor's start: ten thousand times what it takes on an idle host. Of 500 started at once on two
// cores, 45 took longer than a minute.
const readyWait = 10 * time.Minute

var errNotReady = fmt.Errorf("the supervisor was not ready within %v", readyWait)

// Pid is the supervisor's process id as the launcher sees it.
func (s *supervisor) Pid() int { return s.process.handle.Pid }
