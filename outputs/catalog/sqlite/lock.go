package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// errHeld says that the lock did not change hands within the timeout.
var errHeld = errors.New("it stays locked")

// tick is the resolution of turns.
const tick = time.Second

// lock takes the exclusive flock(2) of a catalog, and waits for it until ctx ends. Waiters sleep in the kernel, which wakes
// them in order: SQLite can only be polled, and five hundred polling processes leave no processor to the one that writes.
// The timeout counts from when the lock last changed hands, since behind five hundred others a long wait is normal.
//
// The lock is on a file next to the catalog's that is never removed: otherwise two processes could hold locks on two
// files of one name.
func lock(ctx context.Context, catalog string, timeout time.Duration) (unlock func(), err error) {
	var l locker
	return l.lock(ctx, catalog, timeout)
}

// locker takes the lock for one caller, again and again. An abandoned wait goes on, since nothing can end it: the next
// call uses it, so that there is never more than one.
type locker struct{ abandoned *wait }

func (l *locker) lock(ctx context.Context, catalog string, timeout time.Duration) (unlock func(), err error) {
	if w := l.abandoned; w != nil && w.resume() {
		return l.await(ctx, w, timeout)
	}
	l.abandoned = nil
	file, err := os.OpenFile(catalog+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	switch err = flock.Try(file, flock.Exclusive); {
	case errors.Is(err, flock.ErrHeld):
		return l.await(ctx, begin(file), timeout)
	case err != nil:
		_ = file.Close()
		return nil, fmt.Errorf("lock %q: %w", file.Name(), err)
	}
	return taken(file), nil
}

// await continues a wait for the lock, and keeps it for the next call on a timeout.
func (l *locker) await(ctx context.Context, w *wait, timeout time.Duration) (unlock func(), err error) {
	l.abandoned = nil
	err = w.await(ctx, timeout)
	if errors.Is(err, errHeld) || ctx.Err() != nil {
		l.abandoned = w
	}
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", w.file.Name(), err)
	}
	return taken(w.file), nil
}

// taken records that the lock changed hands.
func taken(file *os.File) (unlock func()) {
	if age(file) > tick {
		_ = unix.UtimesNanoAt(int(file.Fd()), "", nil, unix.AT_EMPTY_PATH) // now
	}
	return func() { _ = flock.Release(file) }
}

// wait is a wait for a file's lock, in the kernel.
type wait struct {
	file *os.File
	came chan error // of 1: how it ended

	mu     sync.Mutex
	wanted bool
	over   bool
}

func begin(file *os.File) *wait {
	w := &wait{file: file, came: make(chan error, 1), wanted: true}
	go func() {
		err := flock.Lock(file, flock.Exclusive)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.over = true; !w.wanted {
			_ = flock.Release(file)
			return
		}
		if err != nil {
			_ = file.Close() // the previous error counts
		}
		w.came <- err
	}()
	return w
}

// resume continues an abandoned wait if it is not over.
func (w *wait) resume() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = !w.over
	return w.wanted
}

// giveUp releases the lock when it is acquired, or now if it just was.
func (w *wait) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted = false; !w.over {
		return
	}
	if err := <-w.came; err == nil {
		_ = flock.Release(w.file)
	}
}

// await waits until the lock is acquired, has not changed hands for timeout, or ctx ends.
func (w *wait) await(ctx context.Context, timeout time.Duration) error {
	for began := time.Now(); ; {
		idle := min(time.Since(began), age(w.file))
		if idle >= timeout {
			w.giveUp()
			return errHeld
		}
		select {
		case err := <-w.came:
			return err
		case <-ctx.Done():
			w.giveUp()
			return ctx.Err()
		case <-time.After(timeout - idle):
		}
	}
}

// age is the time since the lock last changed hands, by the file's modification time. A future one predates a clock set
// back: no process took the lock since.
func age(file *os.File) time.Duration {
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	since := time.Since(info.ModTime())
	if since < -tick {
		return math.MaxInt64
	}
	return since
}
