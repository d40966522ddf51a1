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
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/trace"
	"github.com/scidex-ai/scidex-oci/runner/unmapped"
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
	last    *tail
}

// Launch starts a supervisor and waits until it is ready. It ends with Close, with the launcher, or with
// the thread that started it, whichever comes first.
func Launch(ctx context.Context, account Account) (*Supervisor, error) {
	c, child, err := socketPair()
	if err != nil {
		return nil, err
	}
	s := &Supervisor{Session: newSession(c, &host{done: make(chan struct{}), last: &tail{}}, true), account: account}
	s.trace = trace.From(ctx)
	err = s.trace.Do(trace.Start, "execute it", func() error { return s.start(child) })
	child.Close() // now only the supervisor has it, so that its death before it is ready is heard at once
	if err != nil {
		return nil, errors.Join(launchError(err), c.Close())
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// start executes the supervisor. Its parent-death signal belongs to the thread that started it
// (PR_SET_PDEATHSIG(2const)), so this thread waits for it and does nothing else.
func (s *Supervisor) start(child *os.File) error {
	program := chooseProgram()
	defer program.close()
	s.slow = program.slow
	child, err := program.after(child)
	if err != nil {
		return err
	}
	defer child.Close()
	cmd := exec.Command(program.path)
	cmd.Args = append([]string{supervisorName}, traceArgs(s.trace != nil)...)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stderr = s.host.last
	cmd.ExtraFiles = []*os.File{child}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: outerNamespaces,
		Setsid:     true,
		Pdeathsig:  syscall.SIGKILL,
	}
	s.account.configure(cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(s.host.done)
		err := cmd.Start()
		s.host.process = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait() // why it ended is in what it wrote
		}
	}()
	return <-started
}

// configure chooses how the id maps are written: by Go between clone and exec where the caller may do
// that itself, by newuidmap(1) and newgidmap(1) while a first program waits where it may not.
func (a Account) configure(cmd *exec.Cmd) {
	if !a.MapDirectly(cmd.SysProcAttr) {
		cmd.Args = append([]string{unmapped.Name}, cmd.Args...)
	}
}

// MapDirectly asks for the id maps of the outer user namespace as part of starting a process, where the
// caller may write them itself. Where it may not, it returns false: then WriteMaps writes them while the
// process waits.
func (a Account) MapDirectly(attr *syscall.SysProcAttr) bool {
	switch {
	case a.Root() && a.HasRange():
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: a.UIDs.Start, Size: a.UIDs.Count}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: a.GIDs.Start, Size: a.GIDs.Count}}
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{}
		return true
	case a.HasRange():
		return false
	default:
		a.MapSelf(attr)
		return true
	}
}

// MapSelf asks for the maps that everybody may write: the caller is root of the outer namespace, and nobody
// else is in it.
func (a Account) MapSelf(attr *syscall.SysProcAttr) {
	attr.UidMappings = []syscall.SysProcIDMap{{HostID: a.UID, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{HostID: a.GID, Size: 1}}
}

// HostUID returns the host's id of an id of the outer namespace.
func (a Account) HostUID(outer int) int {
	switch {
	case a.Root() && a.HasRange():
		return a.UIDs.Start + outer
	case outer == 0:
		return a.UID
	default:
		return a.UIDs.Start + outer - 1
	}
}

// HostGID returns the host's group of a group of the outer namespace.
func (a Account) HostGID(outer int) int {
	switch {
	case a.Root() && a.HasRange():
		return a.GIDs.Start + outer
	case outer == 0:
		return a.GID
	default:
		return a.GIDs.Start + outer - 1
	}
}

func (s *Supervisor) prepare(ctx context.Context) error {
	if s.account.HasRange() && !s.account.Root() {
		if err := s.trace.Do(trace.Start, "map its ids", func() error { return s.account.WriteMaps(ctx, s.Pid()) }); err != nil {
			if s.conn.hungUp() { // it has no ids because it is dead
				err = s.lost(io.EOF)
			}
			return err
		}
		if _, err := s.conn.sock.Write([]byte{1}); err != nil {
			return s.lost(err)
		}
	}
	defer s.trace.Span(trace.Start, "wait until it is ready")()
	// Without a bound a supervisor that hangs would hang the launcher, before it listens to anybody.
	if err := s.conn.sock.SetReadDeadline(time.Now().Add(readyWait)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = s.conn.sock.SetReadDeadline(time.Now()) })()
	if _, err := s.expect(msgReady); err != nil {
		return err
	}
	return s.conn.sock.SetReadDeadline(time.Time{})
}

// readyWait is how long a supervisor may take to get ready: a thousand times what it takes.
const readyWait = time.Minute

// WriteMaps maps the caller to root of the user namespace of process pid and its range behind that, by
// newuidmap(1) and newgidmap(1).
func (a Account) WriteMaps(ctx context.Context, pid int) error {
	errs := make(chan error, 2)
	run := func(lane trace.Lane, tool string, own int, ids IDRange) {
		defer trace.From(ctx).Span(lane, tool)()
		path, err := findTool(tool)
		if err != nil {
			errs <- err
			return
		}
		out, err := exec.CommandContext(ctx, path, strconv.Itoa(pid),
			"0", strconv.Itoa(own), "1",
			"1", strconv.Itoa(ids.Start), strconv.Itoa(ids.Count)).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s (is the range in /etc/subuid and /etc/subgid right?)",
				tool, err, strings.TrimSpace(string(out)))
		}
		errs <- err
	}
	go run(trace.UserIDs, "newuidmap", a.UID, a.UIDs)
	go run(trace.GroupIDs, "newgidmap", a.GID, a.GIDs)
	return errors.Join(<-errs, <-errs)
}

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
