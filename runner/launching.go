package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// launching is what is begun while a request is still being checked, because it takes as long as the
// checks and the intent row do: a supervisor is started, a place for its control groups found, and the kernel
// made ready to move a process.
type launching struct {
	account sandbox.Account
	abandon context.CancelFunc // of the search for control groups

	done       chan struct{}
	supervisor *sandbox.Supervisor
	err        error

	placed chan struct{}
	found  groups
	chill  func() // ends the making ready; it may be called again
}

// Begun is what Begin has begun. It is given to Run by its request, or dropped.
type Begun struct{ launching *launching }

// Begin starts what every run needs and what takes long, before the catalog is opened. It makes nothing
// that outlives this process. With limits "outer" the supervisor stays in the control group that the caller is in.
func Begin(ctx context.Context, limits string) (*Begun, error) {
	account, err := sandbox.ReadAccount()
	if err != nil {
		return nil, err
	}
	return &Begun{launch(ctx, account, limits)}, nil
}

// Drop ends what no run has needed.
func (b *Begun) Drop() {
	b.launching.drop()
}

func launch(ctx context.Context, account sandbox.Account, limits string) *launching {
	searching, abandon := context.WithCancel(ctx)
	l := &launching{account: account, abandon: abandon, done: make(chan struct{}), placed: make(chan struct{})}
	// Before the supervisor starts: a control group of which this is the only process can be made ready.
	var found groups
	if limits != spec.LimitsOuter {
		found = findGroups(searching, account)
	}
	if !found.wantScope() {
		l.place(found)
	}
	go func() {
		l.supervisor, l.err = sandbox.Launch(ctx, account)
		close(l.done)
		if found.wantScope() {
			l.place(found.scope(searching, account, l.supervisor))
		}
	}()
	return l
}

func (l *launching) place(found groups) {
	l.found, l.chill = found, found.warm()
	close(l.placed)
}

// groups waits for systemd where that is asked.
func (l *launching) groups() groups {
	<-l.placed
	return l.found
}

// cool ends the making ready; it may be called again.
func (l *launching) cool() {
	<-l.placed
	l.chill()
}

// wait returns the supervisor, which is then the caller's to close.
func (l *launching) wait() (*sandbox.Supervisor, error) {
	<-l.done
	return l.supervisor, l.err
}

// drop ends a supervisor that nobody needs, and the search for its control groups.
func (l *launching) drop() {
	l.abandon()
	if supervisor, err := l.wait(); err == nil {
		_ = supervisor.Close() // it has run nothing
	}
	l.cool()
}
