package riverqueue

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// River notifies workers of jobs, pauses and resumptions by NOTIFY. It polls only for jobs: a worker that is
// reconnecting misses a pause.

// notifyWorkers notifies workers of available jobs in queues, with the commit.
func notifyWorkers(ctx context.Context, tx pgx.Tx, queues []string) error {
	if len(queues) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `SELECT pg_notify('`+schema+`.river_insert', json_build_object('queue', name)::text)
		FROM (SELECT DISTINCT unnest($1::text[]) AS name) q`, queues)
	return err
}

// pauses is a worker's view of paused queues.
type pauses struct {
	mu     sync.Mutex
	paused map[string]bool
}

// begin reads how queues are at the start.
func (h *pauses) begin(ctx context.Context, q *Queue, queues []string) error {
	h.paused = map[string]bool{}
	return q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT name FROM scidex_oci.river_queue WHERE name = ANY($1) AND paused_at IS NOT NULL`, queues)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, name := range names {
			h.paused[name] = true
		}
		return err
	})
}

// follow records the events of River until they end.
func (h *pauses) follow(events <-chan *river.Event) {
	for event := range events {
		h.mu.Lock()
		h.paused[event.Queue.Name] = event.Kind == river.EventKindQueuePaused
		h.mu.Unlock()
	}
}

// missed are queues whose pause or resumption this worker did not receive.
func (h *pauses) missed(ctx context.Context, tx pgx.Tx, queues []string) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT name, paused_at IS NOT NULL AS paused FROM scidex_oci.river_queue WHERE name = ANY($1)`, queues)
	if err != nil {
		return nil, err
	}
	type row struct {
		Name   string
		Paused bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, r := range all {
		if r.Paused != h.paused[r.Name] {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// repeatNotifications repeats the notification of pauses and resumptions, excluding concurrent ones.
func (q *Queue) repeatNotifications(ctx context.Context, queues []string) error {
	return q.queues(ctx, nil, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT pg_notify('`+schema+`.river_control', json_build_object(
				'action', CASE WHEN paused_at IS NULL THEN 'resume' ELSE 'pause' END, 'queue', name)::text)
			FROM scidex_oci.river_queue WHERE name = ANY($1)`, queues)
		return err
	})
}
