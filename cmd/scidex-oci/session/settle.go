package session

import (
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/recovery"
)

// settleEach is the time between two looks for what other processes have left.
const settleEach = 10 * time.Second

// settle does what a command does at its start, again and again: an engine goes on for long. What drains starts nothing new.
func (s *Session) settle(ctx context.Context) {
	for tick := time.Tick(settleEach); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if !s.Engine.Draining() {
			s.recoverOthers(ctx)
		}
	}
}

// recoverOthers commits results that wait, and ends killed runs.
func (s *Session) recoverOthers(ctx context.Context) {
	recovery.CommitOutcomes(ctx, s.Stores.Host)
	recovery.Tidy(ctx, s.Stores.Host)
}

// settleUntil settles in the background until the function it returns is called.
func (s *Session) settleUntil(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.settle(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
