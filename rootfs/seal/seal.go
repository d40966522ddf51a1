// Package seal records a root filesystem and detects changes.
//
// A record has two parts. The list has, for each entry, all that an analysis can see: kind, permission bits, size,
// SHA-256, target. Its SHA-256 is the rootfs digest, the same wherever and by whomever the root was unpacked; it excludes
// modification times, owners, hard links and inode numbers. The stamp has each entry's lstat(2) at listing time,
// including inode number and change time. No system call sets the change time, so matching stamps mean that nothing
// changed; every run checks them at its start. If they differ (a copied or restored store has other inodes), everything
// is read.
//
// This detects faults and mistakes. A process with the caller's id can make a new record, and root can set the clock or write to
// the device.
package seal

import (
	"context"
	"errors"
	"fmt"
	"os"

	digest "github.com/opencontainers/go-digest"
)

var (
	// ErrChanged says that a root differs from its record.
	ErrChanged = errors.New("the root filesystem was changed")
	// ErrRecord says that a record is unusable: damaged, truncated or of an unknown version.
	ErrRecord = errors.New("the record of the root filesystem is damaged")

	errUnfit = errors.New("it cannot be in a root filesystem")
)

// Sums has the digests of files by inode number, so that new files need not be read again.
type Sums interface {
	Of(ino uint64) (sum [32]byte, known bool)
}

// Record is a root filesystem's recorded state.
type Record struct {
	path   string
	header header
}

// Digest is the rootfs digest.
func (r *Record) Digest() digest.Digest {
	return digest.NewDigestFromBytes(digest.SHA256, r.header.ListSum[:])
}

// Entries is how many files, directories and links the root has, including itself.
func (r *Record) Entries() int64 { return r.header.Entries }

// Bytes is the sum of the sizes of its files; each name of a file counts.
func (r *Record) Bytes() int64 { return r.header.Bytes }

// Seal lists the root in the directory root and writes the record to path, atomically and for its owner only. All
// entries must belong to root's owner and be files, directories or links. Files that sums lacks are read; sums may be
// nil. A write to the root before Seal returns is an error. path should be on the root's file system, whose clock is
// used.
func Seal(ctx context.Context, root *os.File, path string, sums Sums) (*Record, error) {
	h, err := write(ctx, root, path, sums, nil)
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", root.Name(), err)
	}
	return &Record{path, h}, nil
}

// Open opens the record at path. It reads little: damage after the header is found when that is read.
func Open(path string) (*Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := readHeader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Record{path, h}, nil
}

// Confirm checks root, and reads everything if the check fails. If all matches the list, it renews the stamp.
func (r *Record) Confirm(ctx context.Context, root *os.File) error {
	err := r.Check(ctx, root)
	if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrRecord) {
		return err
	}
	return r.renew(ctx, root)
}

// renew verifies root, and renews the stamp if all matches the list.
func (r *Record) renew(ctx context.Context, root *os.File) error {
	list, err := r.openList()
	if err != nil {
		return err
	}
	defer list.Close()
	h, err := write(ctx, root, r.path, nil, list)
	if err != nil {
		return fmt.Errorf("verify %s: %w", root.Name(), err)
	}
	r.header = h
	return nil
}
