package runner

import (
	"cmp"
	"context"

	"github.com/scidex-ai/scidex-oci/runner/host/room"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// station is what is begun before a request is known to be good, because it takes as long as the checks and the
// intent row do: a supervisor is started, and a place for control groups found.
type station struct {
	account sandbox.Account
	abandon context.CancelFunc // of the search for control groups, and of the start

	started    chan struct{}
	supervisor *sandbox.Supervisor
	err        error

	placed chan struct{}
	found  groups

	trace *trace.Tracer
}

// launch makes nothing that outlives this process. With limits "outer" the supervisor stays in the control group that
// the caller is in.
func launch(ctx context.Context, account sandbox.Account, limits string) *station {
	ctx, abandon := context.WithCancel(ctx)
	s := &station{account: account, abandon: abandon, started: make(chan struct{}), placed: make(chan struct{}), trace: trace.From(ctx)}
	// Before the supervisor starts: a control group of which this is the only process can be made ready.
	if limits != spec.LimitsOuter {
		found := s.trace.Span(trace.Run, "find a place for control groups")
		s.found = findGroups(ctx, account)
		found()
	}
	scope := s.found.wantScope()
	if !scope {
		close(s.placed)
	}
	go func() {
		s.supervisor, s.err = sandbox.Launch(ctx, account)
		close(s.started)
		if scope {
			given := s.trace.Span(trace.Start, "have systemd make a scope")
			s.found = s.found.scope(ctx, account, s.supervisor)
			given()
			close(s.placed)
		}
	}()
	return s
}

// groups waits for systemd where that is asked.
func (s *station) groups() groups {
	<-s.placed
	return s.found
}

// lost reports whether it has no supervisor, or none any more.
func (s *station) lost() bool {
	select {
	case <-s.started:
		return s.err != nil || !s.supervisor.Alive()
	default:
		return false
	}
}

// close ends the supervisor, or its start, and the search for its control groups.
func (s *station) close() {
	s.abandon()
	if <-s.started; s.err == nil {
		_ = s.supervisor.Close() // what it runs is told by those who wait for that
	}
}

// launching is a station as one run uses it, and the kernel made ready to move a process of the run.
type launching struct {
	*station
	own bool // no other run uses it

	warm  chan struct{}
	chill func() // ends the making ready; it may be called again
}

func (s *station) enlist(own bool) *launching {
	l := &launching{station: s, own: own, warm: make(chan struct{})}
	go func() {
		found := s.groups()
		warmed := s.trace.Span(trace.Groups, "prepare the move")
		l.chill = found.warm()
		warmed()
		close(l.warm)
	}()
	return l
}

// cool ends the making ready; it may be called again.
func (l *launching) cool() {
	<-l.warm
	l.chill()
}

// wait returns a session for the run, which is then the caller's to close. ctx ends the waiting: the start may have to do with
// other programs, and those with other hosts, such as newuidmap with a directory of users.
func (l *launching) wait(ctx context.Context) (*sandbox.Session, error) {
	select {
	case <-l.started:
	case <-ctx.Done():
		if l.own {
			l.close()
		}
		return nil, context.Cause(ctx)
	}
	switch {
	case l.err != nil:
		return nil, l.err
	case l.own:
		return l.supervisor.Session, nil
	default:
		return l.supervisor.Open()
	}
}

// drop ends what no run has needed.
func (l *launching) drop() {
	if l.own {
		l.close()
	}
	l.cool()
}

// Begun is what Begin has begun. It is given to Run by its request, or dropped.
type Begun struct{ launching *launching }

// Begin starts what every run needs and what takes long, before the catalog is opened. It makes nothing
// that outlives this process. With limits "outer" the supervisor stays in the control group that the caller is in.
func Begin(ctx context.Context, limits string) (*Begun, error) {
	defer trace.From(ctx).Span(trace.Run, "begin the supervisor's start")()
	account, err := roomyAccount()
	if err != nil {
		return nil, err
	}
	return &Begun{launch(ctx, account, limits).enlist(true)}, nil
}

// Drop ends what no run has needed.
func (b *Begun) Drop() { b.launching.drop() }

// roomyAccount is the caller's account, where that has room for a run.
func roomyAccount() (sandbox.Account, error) {
	account, err := sandbox.ReadAccount()
	return account, cmp.Or(err, room.Check(userOf(account)))
}

// userOf is whose threads the kernel counts for runs of the account.
func userOf(account sandbox.Account) room.User {
	return room.User{UID: account.UID, Start: account.UIDs.Start, Count: account.UIDs.Count}
}
