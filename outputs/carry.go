package outputs

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// Carry copies the regular files, directories and symlinks below src into dst, which must be empty and out of reach of
// others, across file systems. It keeps the permission bits, adds u+rw, and makes the caller the owner. It returns an entry
// with a reason for each that was not copied. Several names of one inode become separate files.
func Carry(ctx context.Context, src, dst *os.File, bounds Bounds) ([]Entry, error) {
	entries, err := copyTree(ctx, src, dst, staging{keep: func([]byte, string) bool { return true }}, bounds)
	if err != nil {
		return nil, fmt.Errorf("carry: %w", err)
	}
	var left []Entry
	for _, e := range entries {
		if e.Rejected != "" {
			left = append(left, e)
		}
	}
	return left, nil
}

// special copies a symlink that is to be kept, and records its target.
func (s *staging) special(dir int, name string, st *unix.Stat_t) error {
	if kind(st) != unix.S_IFLNK {
		return special(dir, name, st)
	}
	target, err := beneath.Readlink(dir, name)
	if err != nil {
		return err
	}
	path := s.walk.join(name)
	if !s.keep(path, target) {
		return &refusal{Symlink, "-> " + target}
	}
	if err := unix.Symlinkat(target, s.to.fd(), name); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if s.owner != nil {
		if err := unix.Fchownat(s.to.fd(), name, s.owner.UID, s.owner.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("target: %w", err)
		}
	}
	s.entries = append(s.entries, Entry{Path: path, Detail: []byte("-> " + target)})
	return nil
}
