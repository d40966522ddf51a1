package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// launching is a supervisor that is being started while the request is still being checked: it takes as
// long as the checks and the intent row do.
type launching struct {
	done       chan struct{}
	supervisor *sandbox.Supervisor
	err        error
}

func launch(ctx context.Context, account sandbox.Account) *launching {
	l := &launching{done: make(chan struct{})}
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
