package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/spec"
)

// canaryRun is the run of one canary.
type canaryRun struct {
	*probe.Run
	id     string
	stdout *probe.Lines
	stderr *bounded.Buffer
}

// overdueAfter is how long a run may continue after its timeout. The selftest must end even if the timeout fails.
const overdueAfter = 20 * time.Second

// maxStderr is how much of a canary's standard error is kept, in bytes.
const maxStderr = 200

// start starts a canary with the limits of a. Its role ends its id. The standby may be nil.
func (s *session) start(ctx context.Context, role string, a spec.Analysis, o canary.Orders, started *standby.Standby) (*canaryRun, error) {
	o.V, o.ID = 1, s.id+"-"+role
	text, err := json.Marshal(o)
	if err == nil {
		err = s.dir.write(role, text)
	}
	if err != nil {
		if started != nil {
			started.Drop()
		}
		return nil, err
	}
	c := &canaryRun{id: o.ID, stdout: probe.NewLines(2), stderr: bounded.Head(maxStderr)}
	s.record.Runs = append(s.record.Runs, c.id)
	c.Run = s.runs.Start(ctx, s.host, request.Request{
		Analysis: s.request(a, role), NoAudit: s.noAudit, Stdout: c.stdout, Stderr: c.stderr, Standby: started,
	})
	overdue := time.AfterFunc(time.Duration(a.Timeout+a.Grace)+overdueAfter, c.End)
	go func() {
		<-c.Ended
		overdue.Stop()
	}()
	return c, context.Cause(ctx)
}

// request is the analysis of a canary.
func (s *session) request(a spec.Analysis, role string) spec.Analysis {
	a.ID = s.id + "-" + role
	a.Labels = maps.Clone(a.Labels)
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	a.Labels[Label] = s.id
	a.Command = []string{canary.ProgramPath, canary.Command, a.ID}
	a.Inputs = append([]string(nil), a.Inputs...)
	for inside, name := range map[string]string{canary.ProgramPath: "canary", canary.OrdersPath: role, canary.TurnPath: "turn"} {
		a.Inputs = append(a.Inputs, spec.Input{Source: s.dir.file(name), Destination: inside}.String())
	}
	return a
}

// line returns the next line of a canary, or why there is none.
func (c *canaryRun) line(ctx context.Context) ([]byte, error) {
	line, err := c.stdout.Next(ctx, c.Ended)
	if !errors.Is(err, probe.ErrEnded) {
		return line, err
	}
	reason := probe.FirstLine(c.stderr.Bytes())
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
	case c.Result.State == catalog.Error, c.Result.State == catalog.Lost:
		return fmt.Errorf("run %s: %s", c.id, c.Result.Message)
	case c.Result.Reason == result.ReasonNotInvocable, c.Result.Reason == result.ReasonNotFound:
		return fmt.Errorf("run %s: %s; the canary is below --tmp: give a directory of a file system that is not mounted noexec", c.id, c.Result.Message)
	}
	return nil
}
