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
)

// errHeld says that nobody has come to a turn for as long as somebody was ready to wait.
var errHeld = errors.New("it stays locked")

// tick is how fresh the time of a turn is.
const tick = time.Second

// lock takes the exclusive flock(2) of a catalog, and waits for it until ctx ends. Whoever waits sleeps in the kernel, which
// wakes all in the order in which they came: SQLite can only be asked again and again, and five hundred
// processes that ask leave no processor to the one that writes. Patience is counted from when somebody last came to a turn,
// since behind five hundred others one waits for long though all is well.
//
// It is on a file beside the catalog's that stays: removing it would let two processes hold locks on two files of one
// name.
func lock(ctx context.Context, catalog string, patience time.Duration) (unlock func(), err error) {
	var t turns
	return t.lock(ctx, catalog, patience)
}

// turns are those of one who asks for one after the other. A wait that was given up goes on aside, since nothing can end it: the next
// turn waits on with it, so that there is never more than one.
type turns struct{ aside *wait }

func (t *turns) lock(ctx context.Context, catalog string, patience time.Duration) (unlock func(), err error) {
	if w := t.aside; w != nil && w.resume() {
		return t.await(ctx, w, patience)
	}
	t.aside = nil
	file, err := os.OpenFile(catalog+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	switch err = flock(file, unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return t.await(ctx, begin(file), patience)
	case err != nil:
		_ = file.Close()
		return nil, fmt.Errorf("lock %q: %w", file.Name(), err)
	}
	return taken(file), nil
}

// await waits on for the lock, and leaves the wait aside where it gives up.
func (t *turns) await(ctx context.Context, w *wait, patience time.Duration) (unlock func(), err error) {
	t.aside = nil
	err = w.await(ctx, patience)
	if errors.Is(err, errHeld) || ctx.Err() != nil {
		t.aside = w
	}
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", w.file.Name(), err)
	}
	return taken(w.file), nil
}

// taken tells that somebody has come to a turn.
func taken(file *os.File) (unlock func()) {
	if age(file) > tick {
		_ = unix.UtimesNanoAt(int(file.Fd()), "", nil, unix.AT_EMPTY_PATH) // now
	}
	return func() { release(file) }
}

// wait is one for the lock of a file, in the kernel.
type wait struct {
	file *os.File
	came chan error // of 1: how it ended, for who wants it

	mu     sync.Mutex
	wanted bool
	over   bool
}

func begin(file *os.File) *wait {
	w := &wait{file: file, came: make(chan error, 1), wanted: true}
	go func() {
		err := flock(file, unix.LOCK_EX)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.over = true; !w.wanted {
			release(file)
			return
		}
		if err != nil {
			_ = file.Close() // the error that counts is the one before
		}
		w.came <- err
	}()
	return w
}

// resume wants what was given up, unless it is over.
func (w *wait) resume() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = !w.over
	return w.wanted
}

// giveUp has the lock given back when it comes, or now where it just came.
func (w *wait) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted = false; !w.over {
		return
	}
	if err := <-w.came; err == nil {
		release(w.file)
	}
}

// await waits until the lock comes, nobody has come to a turn for as long as patience, or ctx ends.
func (w *wait) await(ctx context.Context, patience time.Duration) error {
	for began := time.Now(); ; {
		idle := min(time.Since(began), age(w.file))
		if idle >= patience {
			w.giveUp()
			return errHeld
		}
		select {
		case err := <-w.came:
			return err
		case <-ctx.Done():
			w.giveUp()
			return ctx.Err()
		case <-time.After(patience - idle):
		}
	}
}

// age is for how long nobody has come to a turn, by the time of the file's last change. One that is to come is of before the clock was
// set back: since then nobody has.
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

// release unlocks before it closes: a child that is being started may have a copy of the descriptor, whose lock it is too.
func release(file *os.File) {
	_ = flock(file, unix.LOCK_UN)
	_ = file.Close()
}

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
