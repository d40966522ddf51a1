package riverqueue

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue/lease"
)

// holder renews the lease of a worker, and gives the jobs of workers whose leases have run out to others.
type holder struct {
	queue    *Queue
	pool     *pgxpool.Pool
	mine     lease.Lease // as last read
	observer lease.Observer
	rescued  func(jobs int)
	bound    time.Duration // of a transaction on one connection
}

// firstBound is that of the transaction that takes the lease: many workers may start at once.
const firstBound = 30 * time.Second

// hold takes a worker's lease and renews it until release. A length of 0 is no lease.
func (q *Queue) hold(ctx context.Context, pool *pgxpool.Pool, o queue.Options) (release func(), err error) {
	if o.Lease == 0 {
		return func() {}, nil
	}
	h := &holder{
		queue: q, pool: pool, mine: lease.Lease{Worker: o.Name, Length: o.Lease}, observer: lease.Observer{Length: o.Lease},
		rescued: o.Rescued, bound: firstBound,
	}
	if h.mine.Host, err = os.Hostname(); err == nil {
		err = h.renew(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("take a lease: %w", q.catalog.Explain(err))
	}
	h.bound = lease.Every(o.Lease) / 2
	holding, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.keep(holding)
	}()
	return func() {
		stop()
		<-ended
		h.end(ctx)
	}, nil
}

// keep renews the lease until ctx ends, and more often while that fails.
func (h *holder) keep(ctx context.Context) {
	for pause := lease.Every(h.mine.Length); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = lease.Every(h.mine.Length)
		err := h.renew(ctx)
		if err == nil {
			err = h.rescueDead(ctx)
		} else {
			pause /= 5
		}
		if err != nil && ctx.Err() == nil {
			h.queue.log.Debug("renew the lease of this worker", "error", err)
		}
	}
}

// renew renews the lease, or takes a new one if it is gone, and reads those of others.
func (h *holder) renew(ctx context.Context) error {
	var now lease.Lease
	var others []lease.Lease
	var held bool
	err := h.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if now, held, err = renewLease(ctx, tx, h.mine); err != nil {
			return err
		}
		if !held {
			if now, err = takeLease(ctx, tx, h.mine); err != nil {
				return err
			}
		}
		others, err = otherLeases(ctx, tx, h.mine.Worker)
		return err
	})
	if err != nil {
		return err
	}
	if !held && !h.mine.Started.IsZero() {
		h.observer.Lost()
		h.queue.log.Warn("the lease of this worker has ended, since it was silent for longer or by \"queue rescue\"; others may have what it runs, and a result that comes too late is removed", "worker", h.mine.Worker)
	}
	h.observer.Renewed(sinceBoot(), now, others)
	h.mine = now
	h.mine.Unbroken = h.observer.Unbroken()
	return nil
}

// rescueDead gives the jobs of dead workers to others. With a renewal it takes less time than a gap may last.
func (h *holder) rescueDead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lease.Every(h.mine.Length))
	defer cancel()
	for _, dead := range h.observer.Dead() {
		n, judged := 0, false
		err := h.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if judged, err = stillDead(ctx, tx, h.mine, dead); err != nil || !judged {
				return err
			}
			n, _, err = rescue(ctx, tx, dead.Worker)
			return err
		})
		if err != nil {
			return err
		}
		if !judged {
			continue
		}
		if h.rescued != nil {
			h.rescued(n)
		}
		h.queue.log.Warn("a worker is silent; what it had is in the queue again", "worker", dead.Worker, "last", dead.Renewed.UTC(), "analyses", n)
	}
	return nil
}

// endTimeout bounds the end of a worker if PostgreSQL does not answer.
const endTimeout = 5 * time.Second

// end removes the lease of a worker that has ended well. If its row stays, another worker removes it later and finds no jobs.
func (h *holder) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	err := h.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := endLease(ctx, tx, h.mine.Worker)
		return err
	})
	if err != nil {
		h.queue.log.Debug("end the lease of this worker", "error", err)
	}
}

// transact does something in one transaction: on a connection of the worker's pool, or, if none of those is free and
// works, on a new one.
func (h *holder) transact(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	bounded, cancel := context.WithTimeout(ctx, h.bound)
	err := h.pooled(bounded, do)
	cancel()
	if err == nil || ctx.Err() != nil {
		return err
	}
	bounded, cancel = context.WithTimeout(ctx, h.bound)
	defer cancel()
	conn, err := postgres.ConnectAs(bounded, h.pool)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(bounded) }()
	return within(bounded, conn, do)
}

func (h *holder) pooled(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	conn, err := h.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return within(ctx, conn.Conn(), do)
}

// within names the access mode: the database may have another default.
func within(ctx context.Context, conn *pgx.Conn, do func(ctx context.Context, tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite},
		func(tx pgx.Tx) error { return do(ctx, tx) })
}

// sinceBoot is CLOCK_BOOTTIME, which goes on while the host is suspended and is never set.
func sinceBoot() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // fails for no clock that the kernel has
	return time.Duration(now.Nano())
}
