// Package scan scans directories before they are bound for what an analysis that can only read could reach out through:
// sockets, FIFOs and devices.
//
// For a tree of more than 10,000 entries scans/ below the root caches each directory by device, inode and change time, where
// the file system takes its change times from this kernel's clock: the next scan takes one statx(2) per unchanged directory.
package scan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// Scanner scans directories that are to be bound, for one id that will read them. It caches the result for large ones.
type Scanner struct {
	Dir    string // of the cache; empty: none
	Reader Reader
	Log    *slog.Logger
}

// Special is an entry that a process could use to reach out of a directory it can only read.
type Special struct {
	Path string // relative to the directory
	Kind uint32 // S_IFMT bits
}

// Scan looks for a socket, FIFO or device below dir and returns the first, or nil. Symbolic links are not followed: their
// targets are not in the container. What is mounted below dir, what only the analysis could enter, and a live run are
// errors. tell, if not nil, is called about twice a second with the number of entries so far, once the scan has taken two
// seconds.
//
// What is created or moved during the scan may be missed: the overlays protect against that.
func (s Scanner) Scan(ctx context.Context, dir *os.File, tell func(entries int64)) (*Special, error) {
	fd, err := beneath.Reopen(int(dir.Fd()))
	if err != nil {
		return nil, fmt.Errorf("look into it: %w", err)
	}
	defer unix.Close(fd)
	file, err := s.fileOf(fd)
	if err != nil {
		return nil, err
	}
	w := &walk{progress: newProgress(ctx, tell), reader: s.Reader, memory: file.load(), buf: make([]byte, direntBytes)}
	found, err := w.run(fd)
	if errors.Is(err, errStale) {
		w.memory = file.forget()
		found, err = w.run(fd)
	}
	if err == nil && found == nil && w.entries >= worthRemembering && w.memory.changes() {
		if err := file.save(w.memory); err != nil {
			s.Log.Debug("the scan is not remembered", "error", err)
		}
	}
	return found, err
}

// progress ends a scan with its context, and reports progress.
type progress struct {
	ctx  context.Context // of this one scan
	next time.Time
	tell func(entries int64)
}

const (
	// TellAfter is how long a scan runs before it is reported.
	TellAfter = 2 * time.Second
	tellEvery = time.Second / 2
)

func newProgress(ctx context.Context, tell func(entries int64)) progress {
	return progress{ctx: ctx, next: time.Now().Add(TellAfter), tell: tell}
}

func (p *progress) proceed(entries int64) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	if p.tell == nil {
		return nil
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(tellEvery)
		p.tell(entries)
	}
	return nil
}
