package warm

import (
	"context"
	"errors"
	"sync"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Pool serves many runs, concurrent and successive, with one supervisor and one parent of control groups (docs/adr/0014).
// Runs with limits "outer" have another supervisor, which stays in the caller's control group.
type Pool struct {
	begin  func(limits string) *shared
	mu     sync.Mutex
	outer  *shared // nil: not needed yet
	inner  *shared
	closed bool
}

var errClosed = errors.New("the pool of this run's supervisor is closed")

// NewPool starts what the runs of a pool need, before the first of them is known; limits are their probable limits. It makes
// nothing that outlives this process. ctx cancels what is still starting; Close closes the pool.
func NewPool(ctx context.Context, limits string) (*Pool, error) {
	account, err := accountForRun()
	if err != nil {
		return nil, err
	}
	p := &Pool{begin: func(limits string) *shared { return launch(ctx, account, limits) }}
	_, err = p.get(limits)
	return p, err
}

// Begin is the package's Begin for a run of the pool. It is safe for concurrent use. If the supervisor has died, this run
// gets a new one; the earlier runs are lost, as if each had had its own.
func (p *Pool) Begin(ctx context.Context, limits string) (*Sandbox, error) {
	s, err := p.get(limits)
	if err != nil {
		return nil, err
	}
	return s.forRun(ctx, false), nil
}

// get returns a living one, for runs with such limits.
func (p *Pool) get(limits string) (*shared, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	s := &p.inner
	if limits == spec.LimitsOuter {
		s = &p.outer
	}
	if *s != nil && (*s).lost() {
		(*s).close()
		*s = nil
	}
	if *s == nil {
		*s = p.begin(limits)
	}
	return *s, nil
}

// Close closes the pool; runs still in progress are lost. It is idempotent.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range []*shared{p.inner, p.outer} {
		if s != nil {
			s.close()
		}
	}
}
