package runner

import (
	"context"
	"fmt"
)

// keepWork is the last resort for a run whose end could be neither committed nor kept as an outcome, for the reasons why: it
// keeps the working directory. It returns the user's message.
func (e *execution) keepWork(ctx context.Context, why error) error {
	if e.ingest != nil { // its content cannot be made again
		e.ingest.Leave()
		e.ingest = nil
	}
	if e.dir == nil {
		return why
	}
	err := e.dir.Promise()
	if err == nil && e.plan.InMemory() {
		err = e.clean(ctx, true)
	}
	if err != nil {
		return fmt.Errorf("%w; what the analysis wrote is in %q, which could not be marked, so copy it before anything is removed: %w", why, e.place.Dir, err)
	}
	return fmt.Errorf("%w; what the analysis wrote stays in %q", why, e.place.Dir)
}
