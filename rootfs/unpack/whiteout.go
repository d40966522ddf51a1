package unpack

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// Markers of a layer that hide entries of lower layers (image-spec, layer.md, "Whiteouts"): the entry next to the
// marker, or all in its directory. The leftover prefix is AUFS's own.
const (
	whiteout = ".wh."
	leftover = ".wh..wh."
	opaque   = ".wh..wh..opq"
)

// reserved reports whether an entry is a leftover of AUFS, or is in a directory with a forbidden name.
func reserved(dir, base string) (bool, error) {
	for step := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(step, leftover) {
			return true, nil
		}
		if strings.HasPrefix(step, whiteout) {
			return false, errReserved
		}
	}
	return base != opaque && strings.HasPrefix(base, leftover), nil
}

// whiteout hides entries of lower layers, wherever in its layer the marker is. This layer's own stay.
func (l *layer) whiteout(dir, mark string) error {
	base := strings.TrimPrefix(mark, whiteout)
	if mark != opaque && (base == "" || base == "." || base == "..") {
		return errors.New("it is a whiteout of no entry")
	}
	if l.empty {
		return nil
	}
	p, err := l.existing(dir)
	if isMissing(err) {
		return l.absent(dir)
	}
	if err != nil {
		return fmt.Errorf("its directory: %w", err)
	}
	defer unix.Close(p.fd)
	real := join(p.real, mark)
	// Only once: each pass covers all of this layer there, so repeats could be an attack.
	if _, done := l.hidden[real]; done {
		return nil
	}
	l.names += int64(len(real))
	l.hidden[real] = struct{}{}
	if err := l.keepTime(p); err != nil {
		return err
	}
	if mark == opaque {
		return l.removeAll(p, l.isFresh)
	}
	return l.remove(p, base, l.isFresh)
}

func (l *layer) isFresh(real string) bool {
	_, fresh := l.fresh[real]
	return fresh
}

// remove removes an entry and everything below it, except what to keep and the directories above that.
func (l *layer) remove(p directory, base string, keep func(real string) bool) error {
	l.stale = true
	real := join(p.real, base)
	kept := keep != nil && keep(real)
	if kept {
		if kind, err := p.kind(base); kind != unix.S_IFDIR || err != nil {
			return removed(real, err)
		}
	} else {
		switch err := unix.Unlinkat(p.fd, base, 0); {
		case errors.Is(err, unix.ENOENT):
			return l.free(p, base)
		case err == nil:
			delete(l.fresh, real)
			return nil
		case !errors.Is(err, unix.EISDIR):
			return removed(real, err)
		}
	}
	fd, err := beneath.Open(p.fd, base, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return removed(real, err)
	}
	err = l.removeAll(directory{real, real, fd}, keep)
	unix.Close(fd)
	if err != nil || kept {
		return err
	}
	err = unix.Unlinkat(p.fd, base, unix.AT_REMOVEDIR)
	if keep != nil && errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	if err == nil {
		delete(l.times, real)
		delete(l.fresh, real)
	}
	return removed(real, err)
}

// removeAll empties a directory, except what to keep.
func (l *layer) removeAll(p directory, keep func(real string) bool) error {
	fd, err := beneath.Reopen(p.fd)
	if err != nil {
		return removed(p.real, err)
	}
	f := os.NewFile(uintptr(fd), p.real)
	names, err := f.Readdirnames(-1)
	f.Close()
	if err != nil {
		return removed(p.real, err)
	}
	for _, name := range names {
		if err := l.remove(p, name, keep); err != nil {
			return err
		}
	}
	return nil
}

func removed(real string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("remove %q of a lower layer: %w", real, err)
}
