package unpack

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The marks of a layer that hide what lower layers have (image-spec, layer.md, "Whiteouts"): one entry
// beside the mark, or all that is in the mark's directory. What begins with leftover was AUFS's own.
const (
	whiteout = ".wh."
	leftover = ".wh..wh."
	opaque   = ".wh..wh..opq"
)

// reserved says whether an entry is a leftover of AUFS, or has a directory of a name that no directory
// may have.
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

// whiteout hides what lower layers have, wherever in its layer the mark is. What this layer has stays.
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
		return nil
	}
	if err != nil {
		return fmt.Errorf("its directory: %w", err)
	}
	defer unix.Close(p.fd)
	real := join(p.real, mark)
	// Once is enough, and often would be an attack: each goes through all that this layer has there.
	if _, done := l.hidden[real]; done {
		return nil
	}
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

// remove removes an entry with all that is below, but for what is to be kept and the directories above
// that.
func (l *layer) remove(p place, base string, keep func(real string) bool) error {
	l.forget()
	real := join(p.real, base)
	kept := keep != nil && keep(real)
	if !kept {
		if err := unix.Unlinkat(p.fd, base, 0); err != unix.EISDIR {
			return removed(real, err)
		}
	}
	fd, err := openBeneath(p.fd, base, unix.O_PATH)
	if kept && (isMissing(err) || err == unix.ELOOP) {
		return nil // no directory
	}
	if err != nil {
		return removed(real, err)
	}
	err = l.removeAll(place{real, real, fd}, keep)
	unix.Close(fd)
	if err != nil || kept {
		return err
	}
	err = unix.Unlinkat(p.fd, base, unix.AT_REMOVEDIR)
	if keep != nil && err == unix.ENOTEMPTY {
		return nil
	}
	return removed(real, err)
}

// removeAll removes what is in a directory, but for what is to be kept.
func (l *layer) removeAll(p place, keep func(real string) bool) error {
	fd, err := openBeneath(p.fd, ".", unix.O_RDONLY)
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
	if err == nil || err == unix.ENOENT {
		return nil
	}
	return fmt.Errorf("remove %q of a lower layer: %w", real, err)
}
