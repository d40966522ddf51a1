package app

import (
	"context"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// work returns what does a line: it runs the line, repeats it after an error, or skips it.
func (b *batchInvocation) work() dispatch.Work {
	runs := b.runs()
	w := dispatch.Work(batch.Retrying{Work: runs, Retries: b.options.retries, Pause: retryPause, Tell: b.printRetry})
	if b.options.resume {
		w = batch.Resuming{
			Work: w, Past: batch.PastRuns{Runs: runs, Catalog: b.stores.Catalog}, Rerun: batch.Rerun(b.options.rerun),
			Check: func(line dispatch.Line) error { return b.lines.At(line.Number, b.checkExport(line)) },
		}
	}
	if b.below != nil {
		w = batch.Exporting{Work: w, Export: b.export}
	}
	return w
}

// retryPause is the pause before a retry: a second before the first, then twice as long each time, at most a minute.
func retryPause(retry int) time.Duration { return backoff.Doubled(time.Second, time.Minute, retry-1) }

// export writes the outputs of a run to the directory of its id.
func (b *batchInvocation) export(ctx context.Context, key catalog.Key) (warning string, err error) {
	run, err := b.stores.Catalog.Get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	_, left, err := b.below.Export(ctx, b.stores.Host, run)
	if warning = left.Warning(); warning != "" {
		b.say(fmt.Sprintf("%s: %s", key, warning))
	}
	return warning, err
}

// source gives each line an id. With --resume it does not, since a line needs the id that it had in the batch before.
func (b *batchInvocation) source() batch.Source {
	if b.options.resume {
		return b.lines.Source()
	}
	return runflags.WithIDs{Source: b.lines.Source()}
}

// runs makes a run of each line, and shows its progress.
func (b *batchInvocation) runs() *dispatch.Runs {
	caller := b.lines.Caller()
	caller.Line = b.lines.SweepName() == "" // nobody wrote the lines of a sweep
	r := &dispatch.Runs{
		Host: b.stores.Host, Pool: b.pool,
		Switches: b.request.Switches, Caller: caller,
		Outage:    &dispatch.Outage{Catalog: b.stores.Catalog, Tell: b.printOutage},
		Suspended: &b.suspended, At: b.refusedAt, Started: b.started, Used: b.used,
	}
	if b.events != nil {
		r.Events = b.events
	}
	if b.request.Hook != nil {
		r.Hook = b.hook
	}
	return r
}

// refusedAt says where and why a line was refused, in the words of a batch.
func (b *batchInvocation) refusedAt(number int, err error) error {
	return b.lines.At(number, batch.InWords(err))
}

func (b *batchInvocation) started(line dispatch.Line) {
	b.progress.Begin(line.Number, line.Analysis.ID)
}

func (b *batchInvocation) used(line dispatch.Line, id string, usage event.Usage) {
	b.progress.Use(line.Number, id, usage)
}

// hook is the post-process command of a line. What it writes goes to standard error.
func (b *batchInvocation) hook(line dispatch.Line) (hook *request.Hook, done func()) {
	output := screen.NewStream(b.program.Stderr, b.screen)
	own := *b.request.Hook
	own.Output = output
	return &own, func() {
		if err := output.Close(); err != nil {
			b.say(fmt.Sprintf("%s: not all that the post-process command wrote could be passed on: %v", line.Analysis.ID, err))
		}
	}
}

// printOutage says once that lines wait for the catalog, and once that they go on.
func (b *batchInvocation) printOutage(err error) {
	if err == nil {
		b.say("the catalog is reached again; lines are started")
		return
	}
	b.say(fmt.Sprintf("%v; no line is started until it is reached", err))
}

func (b *batchInvocation) printRetry(line dispatch.Line, o dispatch.LineResult, retry int, pause time.Duration) {
	b.say(fmt.Sprintf("%s: %s; retry %d of %d in %s", line.Analysis.ID, o.Result.Message, retry, b.options.retries, pause))
}
