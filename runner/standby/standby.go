// Package standby starts what every run needs before the request is known to be good, because it takes as long as the
// checks and the intent row do: a supervisor, and a place for control groups.
package standby

import (
	"cmp"
	"context"

	"github.com/scidex-ai/scidex-oci/runner/host/room"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// Standby is a supervisor and a place for control groups as one run uses them, and the kernel made ready to move a
// process of the run. It is given to one run, or dropped.
type Standby struct {
	shared *shared
	alone  bool // no other run uses it

	warm chan struct{}
	cool func() // ends the making ready; it may be called again
}

// Begin starts what one run needs, before the catalog is opened. It makes nothing that outlives this process. With
// limits "outer" the supervisor stays in the control group that the caller is in.
func Begin(ctx context.Context, limits string) (*Standby, error) {
	defer trace.From(ctx).Span(trace.Run, "begin the supervisor's start")()
	account, err := roomyAccount()
	if err != nil {
		return nil, err
	}
	return launch(ctx, account, limits).forRun(true), nil
}

func (s *shared) forRun(alone bool) *Standby {
	b := &Standby{shared: s, alone: alone, warm: make(chan struct{})}
	go func() {
		found := s.groups()
		warmed := s.trace.Span(trace.Groups, "prepare the move")
		b.cool = found.warm()
		warmed()
		close(b.warm)
	}()
	return b
}

// Account is the caller's account, with the ids that its runs can have.
func (s *Standby) Account() sandbox.Account { return s.shared.account }

// Groups waits for the place for control groups.
func (s *Standby) Groups() Groups { return s.shared.groups() }

// Alone reports whether no other run has the same supervisor.
func (s *Standby) Alone() bool { return s.alone }

// Slow is why the supervisor starts runs slower than it could, or nil. Call it after Wait.
func (s *Standby) Slow() error { return s.shared.supervisor.Slow() }

// Cool ends the making ready of the move; it may be called again.
func (s *Standby) Cool() {
	<-s.warm
	s.cool()
}

// Wait returns a session for the run, which is then the caller's to close. ctx ends the wait: the start may depend on
// other programs, and those on other hosts, such as newuidmap with a directory of users.
func (s *Standby) Wait(ctx context.Context) (*sandbox.Session, error) {
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
		return s.shared.supervisor.Session, nil
	default:
		return s.shared.supervisor.Open()
	}
}

// Drop ends what no run has needed.
func (s *Standby) Drop() {
	if s.alone {
		s.shared.close()
	}
	s.Cool()
}

// roomyAccount is the caller's account, where that has room for a run.
func roomyAccount() (sandbox.Account, error) {
	account, err := sandbox.ReadAccount()
	return account, cmp.Or(err, room.Check(User(account)))
}

// User is whose threads the kernel counts for runs of the account.
func User(account sandbox.Account) room.User {
	return room.User{UID: account.UID, Start: account.UIDs.Start, Count: account.UIDs.Count}
}
