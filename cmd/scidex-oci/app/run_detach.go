package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// detach starts the run in another launcher, and reports what the launcher could not.
func (s *invocation) detach(file eventsTarget) error {
	err := startDetached(s.program, file)
	if err == nil || command.Silent(err) {
		return err
	}
	return s.end(runner.Refused(spec.Analysis{}, err, s.program.Build.Version), err)
}

// startDetached starts the launcher and waits until it releases the streams or ends.
func startDetached(p *command.Program, file eventsTarget) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	answers, launcherEnd := os.NewFile(uintptr(pair[0]), "launcher"), os.NewFile(uintptr(pair[1]), "caller")
	defer answers.Close()
	launcher, err := startLauncher(p, launcherEnd, file)
	if err = errors.Join(err, launcherEnd.Close()); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	answer := make([]byte, 1)
	if n, _ := answers.Read(answer); n == 1 {
		return cmp.Or(launcher.Process.Release(), announced(answer[0]))
	}
	var exit *exec.ExitError
	if err := launcher.Wait(); !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("detach: its launcher was killed (%s) before the analysis started; \"scidex-oci gc\" removes what it left", unix.SignalName(status.Signal()))
	}
	return command.ExitStatus(exit.ExitCode())
}

func startLauncher(p *command.Program, caller *os.File, file eventsTarget) (*exec.Cmd, error) {
	if err := keepDescriptors(); err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{command.LauncherName}, p.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout.File, p.Stderr
	cmd.ExtraFiles = []*os.File{caller}
	if file.Fd > 0 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(file.Fd), file.Text))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// keepDescriptors keeps other descriptors of the caller from the launcher: the reader of a pipe would wait for the end of
// the run.
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

// announced returns the command's end for this answer. The launcher has reported any failure.
func announced(answer byte) error {
	if answer == command.NotAnnounced {
		return command.ExitStatus(outcome.ExitError)
	}
	return nil
}

// outliveCaller makes a request go on if its caller ends.
func (s *invocation) outliveCaller(asked *request.Request) {
	asked.Detached = true
	asked.Stdout, asked.Stderr = nil, nil
	if asked.Hook != nil {
		asked.Hook.Output = io.Discard // its end is in the result
	}
	asked.Stop = s.program.Caller.Stops(asked.Stop)
}

// letGo releases the caller's streams when the analysis starts.
func (s *invocation) letGo(started result.Result) {
	s.screen.ClearStatus()
	answer := byte(command.Announced)
	if err := s.announce(started); err != nil {
		answer = command.NotAnnounced
		fmt.Fprintf(s.screen, "scidex-oci: run %q continues, but its id could not be printed: %v; see \"scidex-oci show --wait %s\"\n", started.ID, err, started.ID)
	}
	if err := s.program.Caller.Release(answer); err != nil {
		s.program.Caller.Abandon() // the run was not announced
	}
}

// announce prints the message for a run that has started.
func (s *invocation) announce(result result.Result) error {
	for _, warning := range result.Warnings {
		fmt.Fprintf(s.screen, "scidex-oci: %s\n", screen.Escape(warning))
	}
	if s.request.JSON {
		return screen.WriteJSON(s.program.Stdout, result)
	}
	_, err := fmt.Fprintln(s.program.Stdout, screen.Escape(result.ID))
	return err
}
