package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/spec"
)

// canaryRun is the run of one canary.
type canaryRun struct {
	*check.Run
	id     string
	stdout *lines
	stderr *bounded.Buffer
}

// overdueAfter is how long a run may continue after its timeout. The selftest must end even if the timeout fails.
const overdueAfter = 20 * time.Second

// maxStderr is how much of a canary's standard error is kept, in bytes.
const maxStderr = 200

// start starts a canary with the limits of a. Its role ends its id.
func (s *examination) start(ctx context.Context, role string, a spec.Analysis, o canary.Orders, start warm.Start) (*canaryRun, error) {
	o.V, o.ID = 1, s.id+"-"+role
	text, err := json.Marshal(o)
	if err == nil {
		err = s.dir.write(role, text)
	}
	if err != nil {
		return nil, err
	}
	c := &canaryRun{id: o.ID, stdout: newLines(2), stderr: bounded.Head(maxStderr)}
	s.made.Runs = append(s.made.Runs, c.id)
	c.Run = s.runs.Start(ctx, runner.New(s.host, start), request.Request{
		Analysis: s.request(a, role), Switches: request.Switches{NoAudit: s.noAudit}, Stdout: c.stdout, Stderr: c.stderr,
	})
	overdue := time.AfterFunc(time.Duration(a.Timeout+a.Grace)+overdueAfter, c.End)
	go func() {
		<-c.Ended
		overdue.Stop()
	}()
	return c, context.Cause(ctx)
}

// request is the analysis of a canary.
func (s *examination) request(a spec.Analysis, role string) spec.Analysis {
	a.ID = s.id + "-" + role
	a.Labels = maps.Clone(a.Labels)
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	a.Labels[label] = s.id
	a.Command = []string{canary.ProgramPath, canary.Command, a.ID}
	a.Inputs = append([]string(nil), a.Inputs...)
	for inside, name := range map[string]string{canary.ProgramPath: "canary", canary.OrdersPath: role, canary.TurnPath: "turn"} {
		a.Inputs = append(a.Inputs, spec.Input{Source: s.dir.file(name), Destination: inside}.String())
	}
	return a
}

// line returns the next line of a canary, or why there is none.
func (c *canaryRun) line(ctx context.Context) ([]byte, error) {
	line, err := c.stdout.next(ctx, c.Ended)
	if !errors.Is(err, errEnded) {
		return line, err
	}
	reason := check.FirstLine(c.stderr.Bytes())
	if reason != "" {
		reason = " (" + reason + ")"
	}
	return nil, fmt.Errorf("%w: %s%s", err, c.Result.Message, reason)
}

// wait waits for the end of a run. The error says that the run could not be made.
func (c *canaryRun) wait() error {
	<-c.Ended
	switch {
	case c.Err != nil:
		return c.Err
	case c.Result.State == outcome.Error, c.Result.State == outcome.Lost:
		return fmt.Errorf("run %s: %s", c.id, c.Result.Message)
	case c.Result.Reason == outcome.ReasonNotInvocable, c.Result.Reason == outcome.ReasonNotFound:
		return fmt.Errorf("run %s: %s; the canary is below --tmp: give a directory of a file system that is not mounted noexec", c.id, c.Result.Message)
	}
	return nil
}

// directory holds the files of the canaries: the program, their orders and the turn.
type directory struct{ check.Dir }

// dirPrefix starts the name of every directory.
const dirPrefix = "scidex-oci-"

// makeDirectory makes it in tmp and removes what killed selftests left there. It cannot be below the root, which is hidden
// from runs.
func makeDirectory(tmp, id string) (d directory, err error) {
	if _, err := Sweep(tmp, false); err != nil {
		return d, err
	}
	if d.Dir, err = check.MakeDir(filepath.Join(tmp, dirPrefix+id)); err != nil {
		return d, err
	}
	if err = copyProgram(d.file("canary")); err != nil {
		err = fmt.Errorf("copy this program for the canary: %w", err)
	} else {
		err = d.write("turn", nil)
	}
	if err != nil {
		err = errors.Join(err, d.Remove())
	}
	return d, err
}

func (d directory) file(name string) string { return filepath.Join(d.Path, name) }

// write writes a file that every id can read. It keeps the inode, which the canaries have bound.
func (d directory) write(name string, text []byte) error {
	f, err := os.OpenFile(d.file(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // only the caller can enter the directory
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	// The umask may have removed bits.
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

// copyProgram copies the running executable, which the ids of a run may not be able to read.
func copyProgram(to string) (err error) {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // only the caller can enter the directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, program); err != nil {
		return err
	}
	return f.Chmod(0o755)
}

// Sweep removes what killed selftests of the caller left in tmp. With dry it only returns what it would remove.
func Sweep(tmp string, dry bool) (removed []string, err error) {
	return lockdir.Sweep(tmp, dirPrefix+"selftest-", dry, nil)
}
