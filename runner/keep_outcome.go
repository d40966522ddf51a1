package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// keepOutcome keeps for later what could not be committed, and returns the message for the user.
func (e *execution) keepOutcome(ctx context.Context, why error) error {
	path, then := pending.Path(e.Host, e.run.Key), `the next command or "scidex-oci gc" commits it`
	if errors.Is(why, catalog.ErrEnded) {
		path, then = path+pending.Refused, "and stays there"
	}
	told := fmt.Errorf("the result could not be committed: %w; it is kept in %q, %s", why, path, then)
	next, err := e.harvested.Entries.Read()
	if err == nil {
		err = record.Keep(path, pending.Record{V: 1, Catalog: e.place.Catalog, Message: told.Error(), Run: e.run}, next)
	}
	if err == nil {
		return told
	}
	return e.keepWork(ctx, fmt.Errorf("the result could not be committed: %w; nor could it be kept for later: %w", why, err))
}
