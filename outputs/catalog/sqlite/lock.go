package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
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
	file, err := os.OpenFile(catalog+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err = flock(file, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		err = await(ctx, file, patience)
	} else if err != nil {
		_ = file.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", file.Name(), err)
	}
	if age(file) > tick {
		_ = unix.UtimesNanoAt(int(file.Fd()), "", nil, unix.AT_EMPTY_PATH) // now
	}
	return func() { release(file) }, nil
}

// await waits for the lock. A wait that is given up goes on aside, since nothing can end it, and gives the lock back.
func await(ctx context.Context, file *os.File, patience time.Duration) error {
	taken, givenUp := make(chan error), make(chan struct{})
	go func() {
		err := flock(file, unix.LOCK_EX)
		select {
		case taken <- err:
		case <-givenUp:
			release(file)
		}
	}()
	for began := time.Now(); ; {
		idle := min(time.Since(began), age(file))
		if idle >= patience {
			close(givenUp)
			return errHeld
		}
		select {
		case err := <-taken:
			if err != nil {
				_ = file.Close() // the error that counts is the one before
			}
			return err
		case <-ctx.Done():
			close(givenUp)
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
