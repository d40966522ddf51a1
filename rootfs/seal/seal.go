// Package seal says what a root filesystem is and notices when it is that no more.
//
// A record has two parts. The list names every entry with all that an analysis can see of it: kind,
// permission bits, size, SHA-256, target. Its own SHA-256 is the rootfs digest, the same wherever and by
// whomever the root was unpacked; modification times, owners, hard links and inode numbers have no part
// in it. The stamp has, for each entry, what lstat(2) said when it was listed, inode number and change
// time among it. No program can set the change time, so where all stamps hold, nobody changed anything;
// that is checked at the start of every run. Where they do not (a store that was copied or restored has
// other inodes), reading everything tells.
//
// This finds what went wrong and what somebody did by mistake. Who has the caller's id can make a new
// record as well.
package seal

import (
	"context"
	"errors"
	"fmt"
	"os"

	digest "github.com/opencontainers/go-digest"
)

var (
	// ErrChanged is why a root is not what its record says.
	ErrChanged = errors.New("the root filesystem was changed")
	// ErrRecord is why a record cannot be used: it is damaged, cut off or of an unknown version.
	ErrRecord = errors.New("the record of the root filesystem is damaged")

	errUnfit = errors.New("it cannot be in a root filesystem")
)

// Sums knows the digests of files by their inode numbers, so that what was just written need not be read.
type Sums interface {
	Of(ino uint64) (sum [32]byte, known bool)
}

// Record is what a root filesystem is said to be.
type Record struct {
	path   string
	header header
}

// Digest is the rootfs digest.
func (r *Record) Digest() digest.Digest {
	return digest.NewDigestFromBytes(digest.SHA256, r.header.ListSum[:])
}

// Entries is how many files, directories and links the root has, itself among them.
func (r *Record) Entries() int64 { return r.header.Entries }

// Bytes is the sum of the sizes of its files; each name of a file counts.
func (r *Record) Bytes() int64 { return r.header.Bytes }

// Seal lists the root in the directory root and writes the record to path, for its owner alone and all
// at once. All entries must belong to the owner of root and must be files, directories and links. Files
// that sums does not know are read; sums may be nil. The root must not be written to meanwhile, which is
// noticed. path should be on the root's own file system, whose clock it is that counts.
func Seal(ctx context.Context, root *os.File, path string, sums Sums) (*Record, error) {
	h, err := write(ctx, root, path, sums, nil)
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", root.Name(), err)
	}
	return &Record{path, h}, nil
}

// Open finds the record at path. It reads little: what is damaged behind the header is found by what
// reads it.
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

// Confirm checks root, and where the check fails it reads everything. If all is as the list says, the
// stamp is made anew.
func (r *Record) Confirm(ctx context.Context, root *os.File) error {
	err := r.Check(ctx, root)
	if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrRecord) {
		return err
	}
	return r.Renew(ctx, root)
}

// Renew verifies root, and makes the stamp anew if all is as the list says.
func (r *Record) Renew(ctx context.Context, root *os.File) error {
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

// Verify reads all of root and returns ErrChanged with the first entry, in the order of paths, that is
// not as the list says.
func (r *Record) Verify(ctx context.Context, root *os.File) error {
	list, err := r.openList()
	if err != nil {
		return err
	}
	defer list.Close()
	w, err := newWalk(root, nil)
	if err == nil {
		err = list.holds(ctx, w, func(*entry) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", root.Name(), err)
	}
	return nil
}
