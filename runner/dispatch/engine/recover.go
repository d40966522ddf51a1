package engine

import (
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
)

// recoverEach is the time between two looks for what other processes have left.
const recoverEach = 10 * time.Second

// recoverOthers commits results that wait, and ends killed runs.
func (e *Engine) recoverOthers(ctx context.Context) {
	recovery.CommitPending(ctx, e.host)
	recovery.Tidy(ctx, e.host)
}

// recoverUntil does what a command does at its start, again and again, until the function it returns is called: an engine goes on for
// long. One that drains starts nothing new.
func (e *Engine) recoverUntil(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.Tick(recoverEach); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			if !e.Draining() {
				e.recoverOthers(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// SweepContent removes what killed clients had handed to runs.
func (e *Engine) SweepContent() {
	if _, err := lockdir.SweepContent(false); err != nil {
		e.host.Log.Warn("left to scidex-oci gc", "error", err)
	}
}
