package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// launching is what is begun while a request is still being checked, because it takes as long as the
// checks and the intent row do: a supervisor is started, and the kernel made ready to move a process.
type launching struct {
	account sandbox.Account
	groups  groups
	cool    func() // ends the making ready; it may be called again

	done       chan struct{}
	supervisor *sandbox.Supervisor
	err        error
}

// Begun is what Begin has begun. It is given to Run by its request, or dropped.
type Begun struct{ launching *launching }

// Begin starts what every run needs and what takes long, before the catalog is opened. It makes nothing
// that outlives this process.
func Begin(ctx context.Context) (*Begun, error) {
	account, err := sandbox.ReadAccount()
	if err != nil {
		return nil, err
	}
	return &Begun{launch(ctx, account)}, nil
}

// Drop ends what no run has needed.
func (b *Begun) Drop() {
	b.launching.cool()
	b.launching.drop()
}

func launch(ctx context.Context, account sandbox.Account) *launching {
	// Before the supervisor starts: a control group of which this is the only process can be made ready.
	groups := findGroups(account)
	l := &launching{account: account, groups: groups, cool: groups.warm(), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.supervisor, l.err = sandbox.Launch(ctx, account)
	}()
	return l
}

// wait returns the supervisor, which is then the caller's to close.
func (l *launching) wait() (*sandbox.Supervisor, error) {
	<-l.done
	return l.supervisor, l.err
}

// drop ends a supervisor that nobody needs.
func (l *launching) drop() {
	if supervisor, err := l.wait(); err == nil {
		_ = supervisor.Close() // it has run nothing
	}
}
