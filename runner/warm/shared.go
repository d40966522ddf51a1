package warm

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// shared is what one run or many need before they start: a supervisor, and a parent of control groups.
type shared struct {
	account idmap.Account
	abandon context.CancelFunc // of the search for control groups, and of the start

	started    chan struct{}
	supervisor sandbox.Supervisor
	err        error

	searched chan struct{}
	found    limits.Groups // once searched is closed

	trace *trace.Tracer
}

// launch makes nothing that outlives this process. With limits "outer" the supervisor stays in the caller's control group.
func launch(ctx context.Context, account idmap.Account, how string) *shared {
	ctx, abandon := context.WithCancel(ctx)
	s := &shared{account: account, abandon: abandon, started: make(chan struct{}), searched: make(chan struct{}), trace: trace.From(ctx)}
	// Before the supervisor starts: a control group with only this process in it can be prepared.
	if how != spec.LimitsOuter {
		found := s.trace.Span(trace.Run, "find a place for control groups")
		s.found = limits.Find(ctx, account.Root())
		found()
	}
	scope := s.found.WantScope()
	if !scope {
		close(s.searched)
	}
	go s.start(ctx, scope)
	return s
}

// start starts the supervisor, and a scope around it where needed.
func (s *shared) start(ctx context.Context, scope bool) {
	s.supervisor, s.err = Launch(ctx, s.account)
	close(s.started)
	if !scope {
		return
	}
	given := s.trace.Span(trace.Start, "have systemd make a scope")
	pid := 0
	if s.err == nil {
		pid = s.supervisor.Pid()
	}
	s.found = s.found.Scope(ctx, pid)
	given()
	close(s.searched)
}

// groups waits for systemd if it was asked.
func (s *shared) groups() limits.Groups {
	<-s.searched
	return s.found
}

// lost reports whether it has no supervisor, or a dead one.
func (s *shared) lost() bool {
	select {
	case <-s.started:
		return s.err != nil || !s.supervisor.Alive()
	default:
		return false
	}
}

// close ends the supervisor, or its start, and the search for control groups.
func (s *shared) close() {
	s.abandon()
	if <-s.started; s.err == nil {
		_ = s.supervisor.Close() // those who wait for its runs report their end
	}
}
