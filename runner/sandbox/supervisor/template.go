package supervisor

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/forks"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/rootmount"
)

// newTemplate makes the container of a template in an area, up to its gate, and tells the launcher.
func newTemplate(l launcher, origin *forks.Origin, area rootmount.Area, job *protocol.Job, files []*os.File) (_ *forks.Template, err error) {
	job.Spec = container.TemplateSpec(job.Spec)
	if _, err := area.Stage(job, files); err != nil {
		return nil, fmt.Errorf("stage the file systems of a template: %w", err)
	}
	streams, err := newStreams(0, nil)
	if err != nil {
		return nil, err
	}
	defer protocol.Discard(streams.child())
	t, err := forks.New(origin, container.Config{
		ID: job.ID, StateDir: area.State(), Spec: job.Spec, Filter: job.Filter, Audit: job.Audit,
		FixedAddresses: job.FixedAddresses, Ahead: job.Ahead,
		Stdin: streams.stdin, Stdout: streams.stdout[1], Stderr: streams.stderr[1],
	}, func() { exit(audit.ErrLost) }) // with all that was forked from it
	if err == nil {
		err = l.reply(protocol.Message{Type: protocol.MsgCreated}, t.Pidfd(), streams.stdout[0], streams.stderr[0])
	}
	return t, errors.Join(err, closeAll(streams.parent()))
}

// directTemplate does to a template what the launcher says. What takes time is a task.
func directTemplate(l launcher, tasks *sync.WaitGroup, t *forks.Template, how string) error {
	switch how {
	case protocol.MsgPrepare:
		return prepareTemplate(l, tasks, t)
	case protocol.MsgStart: // it serves since it is ready
		return nil
	case protocol.MsgStop, protocol.MsgKill:
		return t.Kill()
	}
	return fmt.Errorf("%q came for a template", how)
}

// prepareTemplate starts the interpreter, and answers when it can be forked from, or is of no use.
func prepareTemplate(l launcher, tasks *sync.WaitGroup, t *forks.Template) error {
	if err := t.Start(); err != nil {
		return err
	}
	tasks.Go(func() {
		exit, err := t.Wait()
		l.fail(err)
		if err == nil {
			_ = l.reply(protocol.Message{Type: protocol.MsgExited, Exit: &protocol.Exit{CPU: exit.CPU, MemoryPeak: exit.MemoryPeak}})
		}
	})
	tasks.Go(func() { l.tell(protocol.Message{Type: protocol.MsgPrepared, Note: t.Learn()}) })
	return nil
}
