package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// doctorParams are the parameters of doctor: none.
type doctorParams struct{}

// doctor answers with the report of scidex-oci doctor --json, which is a process of its own: it makes and removes what runs
// need.
func (p *peer) doctor(ctx context.Context, r rpc.Request) (any, error) {
	if bad := r.Read(&doctorParams{}); bad != nil {
		return nil, bad
	}
	done, err := p.Engine.Reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	args := []string{}
	for _, global := range p.Program.Options.OnLine() {
		args = append(args, global.Label, global.Value)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append(args, "doctor", "--json")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, p.Program.Stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || !json.Valid(stdout.Bytes()) {
		return nil, fmt.Errorf("doctor made no report: %w", cmp.Or(err, errors.New("it printed no JSON")))
	}
	return json.RawMessage(stdout.Bytes()), nil
}
