// Package warm starts what every run needs before the request is checked, because it takes as long as the checks and the
// intent row do: a supervisor, and a parent of control groups.
package warm

import (
	"cmp"
	"context"

	"github.com/scidex-ai/scidex-oci/runner/host/headroom"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc"
)

// Sandbox is a supervisor and a parent of control groups as one run uses them, with the kernel prepared to move a process of
// the run. It is given to one run, or dropped.
type Sandbox struct {
	shared *shared
	alone  bool   // no other run uses it
	stop   func() // ends the preparation
}

// Start starts the sandbox of a run with such limits. Begin and Pool.Begin are such functions; Given returns one.
type Start func(ctx context.Context, limits string) (*Sandbox, error)

// Given returns a Start that gives one run a sandbox that was started before. Call drop when no run will take it any more: it ends
// a sandbox that none has taken.
func (s *Sandbox) Given() (start Start, drop func()) {
	taken := false
	return func(context.Context, string) (*Sandbox, error) {
			taken = true
			return s, nil
		}, func() {
			if !taken {
				s.Drop()
			}
		}
}

// Begin starts what one run needs, before the catalog is opened. It makes nothing that outlives this process. With limits
// "outer" the supervisor stays in the caller's control group.
func Begin(ctx context.Context, limits string) (*Sandbox, error) {
	defer trace.From(ctx).Span(trace.Run, "begin the supervisor's start")()
	account, err := accountForRun()
	if err != nil {
		return nil, err
	}
	return launch(ctx, account, limits).forRun(ctx, true), nil
}

func (s *shared) forRun(ctx context.Context, alone bool) *Sandbox {
	ctx, stop := context.WithCancel(ctx)
	go func() { s.groups().Warm(ctx) }()
	return &Sandbox{shared: s, alone: alone, stop: stop}
}

// Account is the caller's account, with the ids available to its runs.
func (s *Sandbox) Account() idmap.Account { return s.shared.account }

// Groups waits for the parent of control groups.
func (s *Sandbox) Groups() limits.Groups { return s.shared.groups() }

// Alone reports whether no other run shares the supervisor.
func (s *Sandbox) Alone() bool { return s.alone }

// Slow is why the supervisor starts runs slower than it could, or nil. Call it after Wait.
func (s *Sandbox) Slow() error { return s.shared.supervisor.Slow() }

// Pid waits for the start of the supervisor and returns its process id as this process sees it; 0 if it did not start, for
// which a run has the reason.
func (s *Sandbox) Pid() int {
	if <-s.shared.started; s.shared.err != nil {
		return 0
	}
	return s.shared.supervisor.Pid()
}

// StopWarming lets the kernel be prepared for the move no longer; it is idempotent.
func (s *Sandbox) StopWarming() { s.stop() }

// Wait returns a session for the run; the caller closes it. ctx bounds the wait: the start may depend on other programs, and
// those on other hosts, such as newuidmap with a user directory service.
func (s *Sandbox) Wait(ctx context.Context) (sandbox.Session, error) {
	select {
	case <-s.shared.started:
	case <-ctx.Done():
		if s.alone {
			s.shared.close()
		}
		return nil, context.Cause(ctx)
	}
	switch {
	case s.shared.err != nil:
		return nil, s.shared.err
	case s.alone:
		return s.shared.supervisor, nil
	default:
		return s.shared.supervisor.Open()
	}
}

// Drop ends an unused Sandbox.
func (s *Sandbox) Drop() {
	if s.alone {
		s.shared.close()
	}
	s.StopWarming()
}

// Launch starts a supervisor and waits until it is ready. It ends with Close or with this process. Which sandbox it is of is chosen here.
func Launch(ctx context.Context, account idmap.Account) (sandbox.Supervisor, error) {
	return runc.Launch(ctx, account)
}

// accountForRun is the caller's account, if its limits allow a run.
func accountForRun() (idmap.Account, error) {
	account, err := idmap.ReadAccount()
	return account, cmp.Or(err, headroom.Check(User(account)))
}

// User is whose threads the kernel counts for runs of the account.
func User(account idmap.Account) headroom.User {
	return headroom.User{UID: account.UID, Start: account.UIDs.Start, Count: account.UIDs.Count}
}
