package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/runner/host/helper"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
)

const (
	// spanDelay is how long spans of a process that goes on wait for others.
	spanDelay = 5 * time.Second
	// spanGrace is how much longer than its own timeout the process that sends them may take.
	spanGrace = 2 * time.Second
)

// ExportSpansEntry is the entry of the hidden command of scidex-oci-net that sends spans (docs/adr/0049).
func ExportSpansEntry() *cli.Command {
	entry := NetEntry("export-spans", "")
	entry.Hidden = true
	return entry
}

// AsksForSpans reports whether the environment asks for OpenTelemetry's spans of runs.
func (p *Program) AsksForSpans() bool { return spans.Asked(p.Env.Text) }

// spanSender has the spans of this process sent.
type spanSender struct {
	queue   *spans.Queue
	log     *slog.Logger
	start   func(context.Context) (*exec.Cmd, error) // makes the command that sends what is on its standard input
	timeout time.Duration

	sending sync.Mutex
	failed  bool // which was said
}

// spanQueue is where runs put their spans; nil if none are asked for.
func (p *Program) spanQueue(log *slog.Logger) *spans.Queue {
	if !p.AsksForSpans() {
		return nil
	}
	if p.spans == nil {
		p.spans = &spanSender{log: log, start: p.exportSpans, timeout: spans.Timeout(p.Env.Text)}
		p.spans.queue = &spans.Queue{Parent: p.ParentSpan(log), Ready: func() { time.AfterFunc(spanDelay, p.spans.send) }}
	}
	return p.spans.queue
}

// ParentSpan is the span that this process is a part of; the zero Context if there is no valid one.
func (p *Program) ParentSpan(log *slog.Logger) spans.Context {
	parent := p.Env.Text("TRACEPARENT")
	if parent == "" {
		return spans.Context{}
	}
	c, err := spans.Parse(parent, p.Env.Text("TRACESTATE"))
	if err != nil {
		log.Debug("TRACEPARENT is left out", "value", parent, "error", err)
	}
	return c
}

// SendSpans sends what is left, after all else of a command is done. It takes bounded time, and changes no exit code.
func (p *Program) SendSpans() {
	if p.spans != nil {
		p.spans.send()
	}
}

// send sends what waits, and warns of the first failure.
func (s *spanSender) send() {
	s.sending.Lock()
	defer s.sending.Unlock()
	traces, dropped := s.queue.Take()
	err := s.export(traces)
	if dropped > 0 {
		err = errors.Join(err, fmt.Errorf("%d traces were dropped, since too many waited", dropped))
	}
	if err != nil && !s.failed {
		s.failed = true
		s.log.Warn("the spans of runs were not sent; further failures are not reported", "error", err)
	}
}

func (s *spanSender) export(traces []spans.Trace) error {
	if len(traces) == 0 {
		return nil
	}
	var lines bytes.Buffer
	to := json.NewEncoder(&lines)
	for _, t := range traces {
		if err := to.Encode(t); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout+spanGrace)
	defer cancel()
	cmd, err := s.start(ctx)
	if err != nil {
		return err
	}
	said := helper.Stderr()
	cmd.Stdin, cmd.Stderr = &lines, said
	cmd.WaitDelay = spanGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the run
	return helper.Failure(cmd.Run(), said)
}

// exportSpans makes the command, of scidex-oci-net: this is it, or the one that was built with this program.
func (p *Program) exportSpans(ctx context.Context) (*exec.Cmd, error) {
	path := "/proc/self/exe"
	if p.Net == nil {
		file, err := openNet()
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { file.Close() })
		path = inode.ProcPath(file)
	}
	cmd := exec.CommandContext(ctx, path, ExportSpansEntry().Name)
	cmd.Env = os.Environ()
	return cmd, nil
}
