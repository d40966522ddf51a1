package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// ErrDead is returned for a run that no process holds: it has ended, or its launcher was killed.
var ErrDead = errors.New("no process holds the run")

// ElsewhereError says why it cannot be known here whether a run lives.
type ElsewhereError struct{ where string }

func (e *ElsewhereError) Error() string { return e.where }

// Live is a run that had not ended at Attach. Close it.
type Live struct {
	state    *os.File // the run's state file, whose lock its launcher has
	process  *os.File // a pidfd of the launcher
	location workspace.Location
}

// Attach finds the launcher of a run and proves by its lock that the run lives. It returns ErrDead if it does not, and an
// ElsewhereError for a run of another host, root or PID namespace.
func Attach(host *phase.Host, run catalog.Run) (*Live, error) {
	if run.State == outcome.Queued {
		return nil, &ElsewhereError{"it waits in the queue; see \"scidex-oci queue\""}
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if run.Host != hostname {
		return nil, &ElsewhereError{fmt.Sprintf("it runs on host %q", run.Host)}
	}
	path := workspace.StatePath(host.Root, run.Key)
	if recorded := workspace.LocationOf(run).State; recorded != "" && recorded != path {
		return nil, &ElsewhereError{fmt.Sprintf("it was started with --root %q", filepath.Dir(filepath.Dir(recorded)))}
	}
	state, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrDead
	}
	if err != nil {
		return nil, err
	}
	l := &Live{state: state}
	if err := l.attach(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// attach checks the process first: only gc takes the lock of a dead run.
func (l *Live) attach() (err error) {
	if l.location, err = l.read(); err != nil {
		return err
	}
	if l.location.Launcher == nil {
		return errors.New("its state file names no process: a scidex-oci of another version has started it")
	}
	l.process, err = l.location.Launcher.Open()
	switch {
	case errors.Is(err, workspace.ErrGone):
		return ErrDead
	case err != nil && !errors.Is(err, workspace.ErrNotHere):
		return err
	}
	held, failed := flock.Held(l.state)
	switch {
	case failed != nil:
		return failed
	case !held:
		return ErrDead
	case err != nil:
		return &ElsewhereError{err.Error()}
	}
	return nil
}

// read returns the recorded Location. The launcher may be writing it: a failed read is repeated.
func (l *Live) read() (location workspace.Location, err error) {
	const timeout = time.Second
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		var raw []byte
		if raw, err = io.ReadAll(io.NewSectionReader(l.state, 0, 1<<20)); err == nil {
			err = json.Unmarshal(raw, &location)
		}
		if err == nil || time.Now().After(deadline) {
			return location, err
		}
		if held, _ := flock.Held(l.state); !held {
			return location, ErrDead
		}
	}
}

// Ended waits until the run's launcher has released it, at most for the given time, and reports whether it has.
func (l *Live) Ended(within time.Duration) (bool, error) {
	const pause = 100 * time.Millisecond // a launcher may let go and live on
	for deadline := time.Now().Add(within); ; {
		left := max(0, min(time.Until(deadline), pause))
		fds := []unix.PollFd{{Fd: int32(l.process.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(left.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) || n > 0 {
			return n > 0, err
		}
		if held, err := flock.Held(l.state); !held || err != nil || left == 0 {
			return !held, err
		}
	}
}

// stop asks the launcher to end the run by SIGTERM, and marks itself as the sender by a lock on the state file; with now the
// analysis gets no grace period. A second call cuts it likewise. A suspended launcher is continued, so that it receives the
// signal.
func (l *Live) stop(now bool) error {
	l.sign(now)
	if held, err := flock.Held(l.state); err == nil && !held { // its launcher may live on, with others
		return ErrDead
	}
	err := unix.PidfdSendSignal(int(l.process.Fd()), unix.SIGTERM, nil, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return ErrDead
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("it belongs to %s, and only that user can stop it", l.owner())
	case err != nil:
		return err
	}
	_ = unix.PidfdSendSignal(int(l.process.Fd()), unix.SIGCONT, nil, 0) // one that has ended needs none
	return nil
}

func (l *Live) sign(now bool) {
	sign := int64(workspace.StopSign)
	if now {
		sign = workspace.StopNowSign
	}
	// If the file system has no such locks the result says SIGTERM, and there is a grace period.
	for _, at := range []int64{sign, workspace.FirstAsker + rand.Int64N(workspace.Askers)} {
		_ = flock.LockRange(l.state, unix.F_OFD_SETLK, unix.F_RDLCK, flock.Range{From: at, To: at + 1})
	}
}

func (l *Live) owner() string {
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", l.location.Launcher.PID), &st); err != nil {
		return "another user"
	}
	uid := strconv.Itoa(int(st.Uid))
	if account, err := user.LookupId(uid); err == nil {
		return fmt.Sprintf("user %q", account.Username)
	}
	return "user " + uid
}

// Close releases what Attach has opened.
func (l *Live) Close() error {
	err := l.state.Close()
	if l.process != nil {
		err = errors.Join(err, l.process.Close())
	}
	return err
}

// AskedToStop returns a number for each `scidex-oci stop` that currently stops the run of an id. It tells a launcher of
// several runs, which gets one signal for each, which run is meant.
func AskedToStop(host *phase.Host, id string) (who []int64) {
	states, _ := filepath.Glob(filepath.Join(workspace.GlobEscape(host.Root), "runs", workspace.GlobEscape(id)+"@*.json")) // the pattern is good
	for _, path := range states {
		state, err := os.Open(path)
		if err != nil {
			continue // it has just ended
		}
		locked, _ := flock.Locked(state, workspace.FirstAsker, workspace.FirstAsker+workspace.Askers)
		for _, asker := range locked {
			who = append(who, asker.From)
		}
		state.Close()
	}
	return who
}

// Usage is what the run's control group counts now; an error if there is none, as under best effort.
func (l *Live) Usage() (cgroup.Usage, error) {
	location, err := l.read() // the groups are made after the intent
	if err != nil {
		return cgroup.Usage{}, err
	}
	return cgroup.UsageOf(location.Groups)
}
