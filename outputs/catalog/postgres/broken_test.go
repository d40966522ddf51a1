package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// breakable is a write whose connection is broken at every message of it.
type breakable struct {
	before func(t *testing.T, c *Catalog, run catalog.Run) // what the write needs to be there
	do     func(t *testing.T, c *Catalog, run catalog.Run) error
	// done reports whether the write succeeded, and checks that it did as a whole or not at all.
	done func(t *testing.T, c *Catalog, run catalog.Run) bool
	// again are errors of a second try after the first one succeeded.
	again error
}

const brokenOutputs = 3

func theBreakable() map[string]breakable {
	create := func(t *testing.T, c *Catalog, run catalog.Run) { must(t, c.Create(t.Context(), run)) }
	ended := func(t *testing.T, c *Catalog, run catalog.Run) {
		create(t, c, run)
		must(t, c.Commit(t.Context(), over(run), many(brokenOutputs)))
	}
	return map[string]breakable{
		"Create": {
			before: func(*testing.T, *Catalog, catalog.Run) {},
			do:     func(t *testing.T, c *Catalog, run catalog.Run) error { return c.Create(t.Context(), run) },
			done: func(t *testing.T, c *Catalog, run catalog.Run) bool {
				return wantWhole(t, c, run, outcome.Running, 0)
			},
			again: catalog.ErrExists,
		},
		"Commit": {
			before: create,
			do: func(t *testing.T, c *Catalog, run catalog.Run) error {
				return c.Commit(t.Context(), over(run), many(brokenOutputs))
			},
			done: func(t *testing.T, c *Catalog, run catalog.Run) bool {
				if partsOf(t, c, run) == (parts{string(outcome.Running), len(run.Labels), 0}) {
					return false
				}
				return wantWhole(t, c, run, outcome.Complete, brokenOutputs)
			},
		},
		"DropOutputs": {
			before: ended,
			do: func(t *testing.T, c *Catalog, run catalog.Run) error {
				return c.DropOutputs(t.Context(), run.Key, run.CreatedAt)
			},
			done: func(t *testing.T, c *Catalog, run catalog.Run) bool {
				wantWhole(t, c, run, outcome.Complete, brokenOutputs)
				got, err := c.Get(t.Context(), run.Key)
				must(t, err)
				return !got.OutputsRemovedAt.IsZero()
			},
		},
		"Delete": {
			before: ended,
			do:     func(t *testing.T, c *Catalog, run catalog.Run) error { return c.Delete(t.Context(), run.Key) },
			done: func(t *testing.T, c *Catalog, run catalog.Run) bool {
				return !wantWhole(t, c, run, outcome.Complete, brokenOutputs)
			},
			again: catalog.ErrNotFound,
		},
	}
}

// parts are what there is of a run. state is empty if there is no row.
type parts struct {
	state           string
	labels, outputs int
}

// partsOf is one statement, as the server may complete a broken transaction at any moment.
func partsOf(t *testing.T, c *Catalog, run catalog.Run) (p parts) {
	t.Helper()
	must(t, c.pool.QueryRow(t.Context(), `SELECT coalesce((SELECT state FROM scidex_oci.analysis_run WHERE id = $1), ''),
		(SELECT count(*) FROM scidex_oci.run_label WHERE id = $1), (SELECT count(*) FROM scidex_oci.analysis_output WHERE id = $1)`,
		run.ID).Scan(&p.state, &p.labels, &p.outputs))
	return p
}

// wantWhole reports whether the run is there, and checks that all that belongs to it is there, or nothing of it.
func wantWhole(t *testing.T, c *Catalog, run catalog.Run, state outcome.State, entries int) bool {
	t.Helper()
	got := partsOf(t, c, run)
	if got != (parts{}) && got != (parts{string(state), len(run.Labels), entries}) {
		t.Errorf("run %s: there is %+v, want %s with %d labels and %d outputs, or nothing", run.ID, got, state, len(run.Labels), entries)
	}
	return got.state != ""
}

// TestBrokenAnywhere breaks the connection at every message of either side, once or permanently: the write succeeded as
// a whole or not at all, a failed one is not reported as a success, and a second try succeeds.
func TestBrokenAnywhere(t *testing.T) {
	t.Parallel() // it waits
	server := theCluster(t)
	name := migrated(t, server)
	direct := opened(t, server.url("boss", name))
	b := newBreaker(t, server)
	through := b.url(t, server.tcp("boss", "boss-password", name))
	for what, write := range theBreakable() {
		for _, side := range []string{fromClient, fromServer} {
			for _, forGood := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", what, side, forGood), func(t *testing.T) {
					n := 1
					for write.breakAt(t, direct, b, through, side, n, forGood) {
						n++
					}
					t.Logf("%d messages", n-1)
					if n < 8 { // BEGIN, statements and COMMIT
						t.Errorf("only %d messages were seen", n-1)
					}
				})
			}
		}
	}
}

// breakAt reports whether there was an nth message.
func (w breakable) breakAt(t *testing.T, direct *Catalog, b *breaker, url, side string, n int, forGood bool) bool {
	t.Helper()
	c := opened(t, url)
	c.timeout = 50 * time.Millisecond
	run := sample(fmt.Sprintf("%s-%d", t.Name(), n))
	w.before(t, direct, run)
	b.arm(side, n, forGood)
	err := w.do(t, c, run)
	broken := b.disarm()
	done := w.done(t, direct, run)
	if err == nil && !done {
		t.Errorf("message %d: nothing came of it, and no error was returned", n)
	}
	if !broken && err != nil && !errors.Is(err, context.DeadlineExceeded) { // a busy server may take longer than that timeout
		t.Errorf("undisturbed: %v", err)
	}
	c.timeout = timeout
	// The server may have committed the first try only after the query for its outcome.
	if err := w.do(t, c, run); err != nil && (w.again == nil || !errors.Is(err, w.again)) {
		t.Errorf("message %d: the second try: %v", n, err)
	}
	if !w.done(t, direct, run) {
		t.Errorf("message %d: nothing came of the second try", n)
	}
	must(t, c.Close())
	return broken
}
