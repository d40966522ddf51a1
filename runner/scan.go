package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// scanner looks through directories that are to be bound, for one id that is to read them. It remembers
// what it saw of large ones.
type scanner struct {
	dir    string // where it remembers; empty: nowhere
	reader reader
	log    *slog.Logger
}

// scan looks through everything that a run binds. Where that takes long, the first wish to stop ends it.
func (r *Runner) scan(ctx context.Context, p *plan, req Request) error {
	ctx, release := untilStop(ctx, req.Stop, tellAfter)
	s := scanner{dir: filepath.Join(r.Root, "scans"), reader: p.reader(), log: r.Log}
	err := p.inputs.scan(ctx, s, req.Scanning)
	return cmp.Or(release(), err)
}

// untilStop returns a context that the first wish to stop ends after a while. Of a scan that is over
// before, the run hears the wish, and ends as canceled. release returns why the context was ended.
func untilStop(ctx context.Context, stop <-chan StopSignal, after time.Duration) (_ context.Context, release func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-time.After(after):
		}
		select {
		case <-done:
		case signal := <-stop:
			cancel(fmt.Errorf("stopped by %s before anything was run", signal.Name))
		}
	}()
	return ctx, func() error {
		close(done)
		<-ended
		defer cancel(nil)
		return context.Cause(ctx)
	}
}

// special is an entry that a process could use to reach out of a directory it can only read.
type special struct {
	path string // relative to the directory
	kind uint32 // S_IFMT bits
}

// scan looks for a socket, FIFO or device below dir and returns the first, or nil. Symbolic links are not
// followed: what they lead to is not in the container. What is mounted below dir, what the analysis could
// enter and the caller cannot look into, and a run that is alive are errors. tell, where not nil, is
// called about twice a second with the number of entries so far, once the scan has taken two seconds.
//
// What is made or moved while the scan goes on may be passed over: against that stand the overlays.
func (s scanner) scan(ctx context.Context, dir *os.File, tell func(entries int64)) (*special, error) {
	fd, err := openBeneath(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("look into it: %w", err)
	}
	defer unix.Close(fd)
	file, err := s.fileOf(fd)
	if err != nil {
		return nil, err
	}
	w := &scan{pace: newPace(ctx, tell), reader: s.reader, memory: file.load(), buf: make([]byte, direntBytes)}
	found, err := w.run(fd)
	if errors.Is(err, errStale) {
		w.memory = file.forget()
		found, err = w.run(fd)
	}
	if err == nil && found == nil && w.entries >= worthRemembering && w.memory.changes() {
		if err := file.save(w.memory); err != nil {
			s.log.Debug("the scan is not remembered", "error", err)
		}
	}
	return found, err
}

// pace ends a scan with its context, and tells how far it is.
type pace struct {
	ctx  context.Context // of this one scan
	next time.Time
	tell func(entries int64)
}

const (
	tellAfter = 2 * time.Second
	tellEvery = time.Second / 2
)

func newPace(ctx context.Context, tell func(entries int64)) pace {
	return pace{ctx: ctx, next: time.Now().Add(tellAfter), tell: tell}
}

func (p *pace) pass(entries int64) error {
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
