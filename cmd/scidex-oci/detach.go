package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/spec"
)

// A detached run has a launcher of its own: this program once more, with the same command line, in a session that
// no terminal has. It says and prints what there is to say until the analysis begins, and only then lets go of the
// caller's streams. Meanwhile the command that the user has started waits: for that, or for the refusal.

// detachedName is the first argument by which the launcher of a detached run knows what it is.
const detachedName = "scidex-oci (detached)"

// tetherFD is the launcher's end of the socket between the two, eventsFD the descriptor of --events.
const (
	tetherFD = 3
	eventsFD = 4
)

// detach does that. What the launcher could not tell itself is told here.
func (s *session) detach(events eventsTarget) error {
	err := s.program.detach(events)
	if err == nil || silent(err) {
		return err
	}
	return s.end(runner.Refused(spec.Analysis{}, err, s.program.build.version), err)
}

// detach starts the launcher and waits until it has let go, or has ended with a refusal or a failure.
func (p *program) detach(events eventsTarget) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "tether"), os.NewFile(uintptr(pair[1]), "tether")
	defer ours.Close()
	launcher, err := p.startLauncher(theirs, events)
	if err = errors.Join(err, theirs.Close()); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	answer := make([]byte, 1)
	if n, _ := ours.Read(answer); n == 1 {
		return cmp.Or(launcher.Process.Release(), announced(answer[0]))
	}
	var exit *exec.ExitError
	if err := launcher.Wait(); !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("detach: its launcher was killed (%s) before the analysis began; \"scidex-oci gc\" removes what it left", unix.SignalName(status.Signal()))
	}
	return exitStatus(exit.ExitCode())
}

func (p *program) startLauncher(tether *os.File, events eventsTarget) (*exec.Cmd, error) {
	if err := keepDescriptors(); err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{detachedName}, p.args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, p.stdout.File, p.stderr
	cmd.ExtraFiles = []*os.File{tether}
	if events.fd > 0 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(events.fd), events.text))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// keepDescriptors lets no other descriptor of the caller's pass to the launcher: whoever waits for the end of a pipe
// would wait for the end of the run.
func keepDescriptors() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// tether is what the launcher of a detached run has of the command that the user has started.
type tether struct {
	socket *os.File
	loose  atomic.Bool
	broken chan struct{} // that command has died before the analysis began
	once   sync.Once     // of snap
}

// newTether takes the socket over, where args say that this is the launcher of a detached run.
func newTether(args []string) (*tether, error) {
	if len(args) == 0 || args[0] != detachedName {
		return nil, nil //nolint:nilnil // this is not one
	}
	unix.CloseOnExec(tetherFD)
	if err := unix.SetNonblock(tetherFD, true); err != nil {
		return nil, fmt.Errorf("%s is not for starting by hand: %w", detachedName, err)
	}
	t := &tether{socket: os.NewFile(tetherFD, "tether"), broken: make(chan struct{})}
	go func() {
		_, _ = t.socket.Read(make([]byte, 1)) // nothing is ever sent
		if !t.loose.Load() {
			t.snap()
		}
	}()
	return t, nil
}

func (t *tether) snap() { t.once.Do(func() { close(t.broken) }) }

// What the launcher answers when the analysis has begun: whether the caller could be told so.
const (
	wasTold = 1
	notTold = 2
)

// announced is how the command ends that has this answer. Of a failure its launcher has said all.
func announced(answer byte) error {
	if answer == notTold {
		return exitStatus(result.ExitError)
	}
	return nil
}

// letGo gives the caller's streams up and tells the command that it can end.
func (t *tether) letGo(answer byte) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	t.loose.Store(true)
	_, err = t.socket.Write([]byte{answer})
	return errors.Join(err, t.socket.Close())
}

// stops passes the wish to stop on, but for that of a terminal which closes, and makes one of the death of the
// command that has started this one before the analysis has begun.
func (t *tether) stops(signals <-chan runner.StopSignal) <-chan runner.StopSignal {
	out := make(chan runner.StopSignal, 2)
	go func() {
		broken := t.broken
		for {
			stop := runner.StopSignal{ExitCode: result.SignalBase + int(unix.SIGTERM), Name: "the death of the command that started it"}
			select {
			case stop = <-signals:
				if stop.Name == "SIGHUP" {
					continue
				}
			case <-broken:
				broken = nil
			}
			select {
			case out <- stop:
			default: // more than two
			}
		}
	}()
	return out
}

// loosen makes a request one that goes on without its caller.
func (s *session) loosen(request *runner.Request) {
	request.Detached = true
	request.Stdout, request.Stderr = nil, nil
	if request.Hook != nil {
		request.Hook.Output = io.Discard // its end is in the result
	}
	request.Stop = s.program.tether.stops(request.Stop)
}

// letGo gives the caller's streams up when the analysis has begun.
func (s *session) letGo(begun result.Result) {
	s.screen.ClearStatus()
	answer := byte(wasTold)
	if err := s.announce(begun); err != nil {
		answer = notTold
		fmt.Fprintf(s.screen, "scidex-oci: run %q continues, but its id could not be printed: %v; see \"scidex-oci show --wait %s\"\n", begun.ID, err, begun.ID)
	}
	if err := s.program.tether.letGo(answer); err != nil {
		s.program.tether.snap() // nobody has heard of the run
	}
}

// announce prints what there is to say of a run that has begun.
func (s *session) announce(result result.Result) error {
	for _, warning := range result.Warnings {
		fmt.Fprintf(s.screen, "scidex-oci: %s\n", screen.Escape(warning))
	}
	if s.request.json {
		return screen.WriteJSON(s.program.stdout, result)
	}
	_, err := fmt.Fprintln(s.program.stdout, screen.Escape(result.ID))
	return err
}
