package standby

import (
	"context"
	"errors"
	"sync"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Pool serves many runs, at the same time and one after another, with one supervisor and one place for control groups
// (docs/adr/0014). Runs with limits "outer" have another supervisor, which stays in the control group that the caller
// is in.
type Pool struct {
	begin  func(limits string) *shared
	mu     sync.Mutex
	outer  *shared // nil: not needed yet
	inner  *shared
	closed bool
}

var errClosed = errors.New("the pool of this run's supervisor is closed")

// NewPool starts what the runs of a pool need, before the first of them is known; limits are those that it is likely to
// have. It makes nothing that outlives this process. ctx ends what is still being started, and Close the pool.
func NewPool(ctx context.Context, limits string) (*Pool, error) {
	account, err := roomyAccount()
	if err != nil {
		return nil, err
	}
	p := &Pool{begin: func(limits string) *shared { return launch(ctx, account, limits) }}
	_, err = p.get(limits)
	return p, err
}

// Begin is the package's Begin for a run of the pool. It may be called from many goroutines. Where the supervisor has
// died, this run gets a new one; the runs that it had are lost, as if each had had its own.
func (p *Pool) Begin(limits string) (*Standby, error) {
	s, err := p.get(limits)
	if err != nil {
		return nil, err
	}
	return s.forRun(false), nil
}

// get returns one that lives, for runs with such limits.
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

// Close ends the pool, and every run of it that still goes on as lost. Further calls do nothing.
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
