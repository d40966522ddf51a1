package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Crew serves many runs, at the same time and one after another, with what they have in common: a supervisor and a
// place for control groups (docs/adr/0014). With limits "outer" that is another supervisor, which stays in the control
// group that the caller is in.
type Crew struct {
	begin  func(limits string) *station
	mu     sync.Mutex
	outer  *station // nil: not needed yet
	inner  *station
	closed bool
}

var errDismissed = errors.New("the crew of this run has ended")

// Muster begins what the runs of a crew need, before the first of them is known; limits are those that it is likely to
// have. It makes nothing that outlives this process. ctx ends what is still being started, and Close the crew.
func Muster(ctx context.Context, limits string) (*Crew, error) {
	account, err := roomyAccount()
	if err != nil {
		return nil, err
	}
	c := &Crew{begin: func(limits string) *station { return launch(ctx, account, limits) }}
	_, err = c.station(limits)
	return c, err
}

// Begin is the package's Begin for a run of the crew: what it returns is for one Request, and Run or Drop end it. It
// may be called from many goroutines. Where the supervisor has died, this run gets a new one; those that it had are
// lost, as if each had had its own.
func (c *Crew) Begin(limits string) (*Begun, error) {
	s, err := c.station(limits)
	if err != nil {
		return nil, err
	}
	return &Begun{s.enlist(false)}, nil
}

// station is one that lives, for runs with such limits.
func (c *Crew) station(limits string) (*station, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errDismissed
	}
	s := &c.inner
	if limits == spec.LimitsOuter {
		s = &c.outer
	}
	if *s != nil && (*s).lost() {
		(*s).close()
		*s = nil
	}
	if *s == nil {
		*s = c.begin(limits)
	}
	return *s, nil
}

// Close ends the crew, and every run of it that still goes on as lost. Further calls do nothing.
func (c *Crew) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, s := range []*station{c.inner, c.outer} {
		if s != nil {
			s.close()
		}
	}
}
