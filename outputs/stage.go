package outputs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Stage copies the regular files and directories below src into dst, which must be empty and out of reach of others, with
// their permission bits and u+rw, and relative symlinks that stay below src. If owner is not nil, all of them get it. It
// returns one entry for each file, with size and digest, one for each symlink, with its target as detail, and one with a
// reason for each entry that was not copied: other symlinks, special files, unreadable ones and those beyond the bounds.
func Stage(ctx context.Context, src, dst *os.File, owner *Owner, bounds Bounds) ([]Entry, error) {
	entries, err := copyTree(ctx, src, dst, staging{owner: owner, keep: staysInside}, bounds)
	if err != nil {
		return nil, fmt.Errorf("stage: %w", err)
	}
	return entries, nil
}

// copyTree copies as how says.
func copyTree(ctx context.Context, src, dst *os.File, how staging, bounds Bounds) ([]Entry, error) {
	from, err := newWalk(src)
	if err != nil {
		return nil, err
	}
	defer from.close()
	to, err := newWalk(dst)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	defer to.close()
	s := &how
	s.ctx, s.to, s.copier = ctx, to, newCopier()
	s.survey = survey{walk: from, bounds: bounds.withDefaults(), take: s, record: s.reject, special: s.special}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s.entries, nil
}

// staysInside reports whether a symlink of a tree leads to a path in it, as far as names show.
func staysInside(path []byte, target string) bool {
	return !strings.HasPrefix(target, "/") && filepath.IsLocal(filepath.Join(filepath.Dir(string(path)), target))
}

// Unchanged returns a function that reports whether a harvested entry is a staged one that the analysis left unchanged: the
// same path and the same contents or target.
func Unchanged(staged []Entry) func(Entry) bool {
	contents := make(map[string]string, len(staged))
	for _, e := range staged {
		if e.Rejected == "" {
			contents[string(e.Path)] = e.SHA256 + string(e.Detail)
		}
	}
	return func(e Entry) bool {
		was, ok := contents[string(e.Path)]
		return ok && (e.Rejected == "" && was == e.SHA256 || e.Rejected == Symlink && was == string(e.Detail))
	}
}

// staging is one call of Stage. Its cursor in the target follows the walk of the source.
type staging struct {
	survey
	ctx     context.Context // of this call
	to      *walk
	owner   *Owner
	keep    func(path []byte, target string) bool // which symlinks are copied
	copier  *copier
	bytes   int64
	entries []Entry
}

func (s *staging) enter(name string, st *unix.Stat_t) error {
	if err := unix.Mkdirat(s.to.fd(), name, 0o700); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	made, err := lstatAt(s.to.fd(), name)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if err := s.to.enter(name, made); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return s.adopt(s.to.fd(), keptMode(st))
}

func (s *staging) leave(depth int) error {
	for s.to.depth() > depth {
		if err := s.to.leave(); err != nil {
			return fmt.Errorf("target: %w", err)
		}
	}
	return nil
}

func (s *staging) file(name string, path []byte, st *unix.Stat_t) error {
	if st.Size > s.bounds.MaxBytes-s.bytes {
		return refuse(TooLarge, "%s; of the bound of %s in all, %s are left",
			format.Size(st.Size), format.Size(s.bounds.MaxBytes), format.Size(s.bounds.MaxBytes-s.bytes))
	}
	src, err := openSame(s.walk.fd(), name, st, unix.O_RDONLY)
	if err != nil {
		return proven(s.walk.fd(), name, st, err)
	}
	defer unix.Close(src)
	sum, err := s.copyTo(name, src, st)
	if err != nil {
		return err
	}
	s.bytes += st.Size
	s.entries = append(s.entries, Entry{
		Path: path, Size: st.Size, SHA256: sum, Mode: keptMode(st), MediaType: mediaType(path, s.copier.head),
	})
	return nil
}

func (s *staging) copyTo(name string, src int, st *unix.Stat_t) (string, error) {
	fd, err := beneath.OpenFile(s.to.fd(), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|quiet, 0o600)
	if err != nil {
		return "", fmt.Errorf("target: %w", err)
	}
	dst := os.NewFile(uintptr(fd), name)
	defer dst.Close()
	sum, err := s.copier.copy(s.ctx, src, st, dst)
	if err == nil {
		err = s.adopt(fd, keptMode(st))
	}
	if err != nil {
		_ = unix.Unlinkat(s.to.fd(), name, 0) // the previous error counts
		return "", err
	}
	return sum, dst.Close()
}

// adopt sets mode and owner of a new entry. The mode comes first: afterwards the owner may be another.
func (s *staging) adopt(fd int, mode uint32) error {
	if err := unix.Fchmod(fd, mode); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if s.owner == nil {
		return nil
	}
	if err := unix.Fchown(fd, s.owner.UID, s.owner.GID); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}

func (s *staging) reject(path []byte, r *refusal) error {
	s.entries = append(s.entries, Entry{Path: path, Rejected: r.reason, Detail: []byte(r.detail)})
	return nil
}
