package riverqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// checkClock refuses a host whose clock differs from the database's by more than most: River would take running jobs for
// stuck.
func (q *Queue) checkClock(ctx context.Context, most time.Duration) error {
	var before, there, after time.Time
	err := q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		before = time.Now()
		err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&there)
		after = time.Now()
		return err
	})
	if off := offBy(before, there, after); err == nil && off.Abs() > most {
		err = fmt.Errorf("this host's clock is %v %s the database's, and workers may differ by %v; set it (NTP), or give all workers a longer --rescue-after",
			off.Abs().Round(time.Millisecond), map[bool]string{true: "ahead of", false: "behind"}[off > 0], most)
	}
	return err
}

// offBy is the minimum difference of a clock to another that was read between two readings of it; negative if it is behind.
// A slow answer is no difference.
func offBy(before, there, after time.Time) time.Duration {
	switch {
	case there.Before(before):
		return before.Sub(there)
	case there.After(after):
		return after.Sub(there)
	}
	return 0
}
