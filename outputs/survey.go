package outputs

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// countMost bounds how many entries one walk counts behind exceeded bounds.
const countMost = 1_000_000

// taker receives the files of a survey. A refusal that it returns becomes the verdict of the entry; any other error ends the
// survey.
type taker interface {
	file(name string, path []byte, st *unix.Stat_t) error
	enter(name string, st *unix.Stat_t) error
	leave(depth int) error // back in the directory at this depth
}

// survey walks a tree within bounds. Regular files go to the taker, everything else gets its verdict here.
type survey struct {
	walk   *walk
	bounds Bounds
	pass   func(name string, st *unix.Stat_t) (bool, error)      // top-level entries that do not count
	skip   func(name string, path []byte, st *unix.Stat_t) error // refuses excluded ones
	take   taker
	record func(path []byte, r *refusal) error
	// special is the verdict on all but regular files and directories.
	special func(dir int, name string, st *unix.Stat_t) error

	entries  int64 // seen
	below    int64 // counted behind bounds
	unknown  bool  // not all were counted
	uncounts int64 // entries that may still be counted behind bounds
}

// errEnd ends a survey: everything was seen, or the bound on entries was reached.
var errEnd = errors.New("end of survey")

func (s *survey) run(ctx context.Context) error {
	s.uncounts = countMost
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.step(ctx)
		if errors.Is(err, errEnd) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *survey) step(ctx context.Context) error {
	name, ok, err := s.walk.next()
	if err != nil {
		return fmt.Errorf("list directory \"%s\": %w", Escape(s.walk.path), err)
	}
	if ok {
		return s.entry(ctx, name)
	}
	if s.walk.depth() == 0 {
		return errEnd
	}
	return s.leave(s.walk.leave())
}

// leave notifies the taker of the walk's directory.
func (s *survey) leave(err error) error {
	if err != nil {
		return err
	}
	return s.take.leave(s.walk.depth())
}

func (s *survey) entry(ctx context.Context, name string) error {
	st, err := lstatAt(s.walk.fd(), name)
	path := s.walk.join(name)
	if err == nil && s.walk.depth() == 0 && s.pass != nil {
		passes, err := s.pass(name, st)
		if passes || err != nil {
			return s.verdict(path, err)
		}
	}
	if s.entries++; s.entries > s.bounds.MaxEntries {
		return s.full(ctx, path)
	}
	if err != nil {
		return s.verdict(path, proven(s.walk.fd(), name, nil, err))
	}
	switch kind(st) {
	case unix.S_IFDIR:
		err = s.directory(ctx, name, path, st)
	case unix.S_IFREG:
		err = s.regular(name, path, st)
	default:
		err = s.special(s.walk.fd(), name, st)
	}
	return s.verdict(path, err)
}

func (s *survey) regular(name string, path []byte, st *unix.Stat_t) error {
	if len(path) > s.bounds.MaxPath {
		return refuse(Name, "path of %d bytes is longer than %d", len(path), s.bounds.MaxPath)
	}
	if err := s.excluded(name, path, st); err != nil {
		return err
	}
	return s.take.file(name, path, st)
}

func (s *survey) excluded(name string, path []byte, st *unix.Stat_t) error {
	if s.skip == nil {
		return nil
	}
	return s.skip(name, path, st)
}

func (s *survey) directory(ctx context.Context, name string, path []byte, st *unix.Stat_t) error {
	if err := s.excluded(name, path, st); err != nil {
		return err
	}
	deep := s.walk.depth()+1 >= s.bounds.MaxDepth
	if !deep && len(path) <= s.bounds.MaxPath {
		if err := s.walk.enter(name, st); err != nil {
			return proven(s.walk.fd(), name, st, err)
		}
		return s.take.enter(name, st)
	}
	below, more, err := s.countBelow(ctx, name, st)
	if err != nil {
		return err
	}
	switch {
	case len(path) > s.bounds.MaxPath:
		return refuse(Name, "path of %d bytes is longer than %d; %s below it", len(path), s.bounds.MaxPath, counted(below, more))
	case below > 0:
		return refuse(TooDeep, "%d levels; %s below it", s.bounds.MaxDepth, counted(below, more))
	}
	return nil // an empty directory
}

// verdict records a refusal and passes everything else on.
func (s *survey) verdict(path []byte, err error) error {
	var r *refusal
	if errors.As(err, &r) {
		return s.record(path, r)
	}
	if err != nil {
		return fmt.Errorf("entry \"%s\": %w", Escape(path), err)
	}
	return nil
}

// full ends the survey at the entry that is one too many.
func (s *survey) full(ctx context.Context, path []byte) error {
	s.unknown = true
	n, more, err := s.count(ctx, 0)
	if err != nil {
		return err
	}
	err = s.record(path, &refusal{TooMany, fmt.Sprintf("%d entries were harvested; this one and %s after it were not",
		s.bounds.MaxEntries, counted(n, more))})
	if err != nil {
		return err
	}
	return errEnd
}

func counted(n int64, more bool) string {
	if more {
		return fmt.Sprintf("more than %d", n)
	}
	return fmt.Sprint(n)
}

// countBelow counts the entries below an unharvested directory.
func (s *survey) countBelow(ctx context.Context, name string, st *unix.Stat_t) (n int64, more bool, err error) {
	depth := s.walk.depth()
	if err := s.walk.enter(name, st); err != nil {
		return 0, false, proven(s.walk.fd(), name, st, err)
	}
	n, more, err = s.count(ctx, depth+1)
	if err == nil {
		err = s.walk.leaveTo(depth)
	}
	return n, more, s.leave(err)
}

// count counts the entries that are left in the current directory, below it and, down to the directory at the given depth,
// above it. It ends early, with more, when countMost entries of the tree were counted. It always looks for at least one
// entry, so that "none" is never wrong.
func (s *survey) count(ctx context.Context, depth int) (n int64, more bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		name, ok, err := s.walk.next()
		if err != nil || !ok && s.walk.depth() <= depth {
			return n, false, err
		}
		if !ok {
			if err := s.walk.leave(); err != nil {
				return 0, false, err
			}
			continue
		}
		if n > 0 && s.uncounts <= 0 {
			s.unknown = true
			return n, true, nil
		}
		n++
		s.below++
		s.uncounts--
		if err := s.countEnter(name); err != nil {
			return 0, false, err
		}
	}
}

func (s *survey) countEnter(name string) error {
	st, err := lstatAt(s.walk.fd(), name)
	if err == nil && kind(st) == unix.S_IFDIR {
		err = s.walk.enter(name, st)
	}
	var r *refusal
	if err = proven(s.walk.fd(), name, st, err); errors.As(err, &r) { // what is below it stays unknown, as in the walk
		return nil
	}
	return err
}
