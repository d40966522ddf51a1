// Package freespace compares the free space of a file system with the minimum to keep.
package freespace

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Floor is the minimum free space of a file system: a share of its size, or bytes. The zero Floor is no minimum.
type Floor struct {
	Percent float64 `json:"percent,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	Most    int64   `json:"most,omitempty"` // bytes, at which the share of a large file system ends; 0 is no such end
}

// Shortage is a file system with less free than its floor; both in bytes.
type Shortage struct {
	Of    string `json:"of"` // what it holds: "/work", "the blob store"
	Free  int64  `json:"free"`
	Floor int64  `json:"floor"`
}

// String says what is short.
func (s Shortage) String() string {
	return fmt.Sprintf("the file system of %s has %s free, below the floor of %s", s.Of, format.Size(s.Free), format.Size(s.Floor))
}

// Short returns the shortage on the file system of dir, or nil. A file system that reports no size, as some FUSE ones do,
// is never short.
func (f Floor) Short(dir *os.File, of string) (*Shortage, error) {
	_, short, err := f.Look(dir, of)
	return short, err
}

// Look is Short, and also returns the bytes free above the floor: math.MaxInt64 if the file system reports no size.
func (f Floor) Look(dir *os.File, of string) (int64, *Shortage, error) {
	var st unix.Statfs_t
	if err := Statfs(dir, &st); err != nil {
		return 0, nil, fmt.Errorf("free space of %s: %w", of, err)
	}
	left := f.left(&st)
	if left < 0 {
		return 0, &Shortage{Of: of, Free: Available(&st), Floor: f.of(&st)}, nil
	}
	return left, nil, nil
}

// Below reports whether a file system has less free than the floor.
func (f Floor) Below(st *unix.Statfs_t) bool { return f.left(st) < 0 }

// left is the bytes free above the floor, less than 0 if there are too few; math.MaxInt64 if the file system reports no size.
func (f Floor) left(st *unix.Statfs_t) int64 {
	if st.Blocks == 0 {
		return math.MaxInt64
	}
	return Available(st) - f.of(st)
}

// of returns a file system's floor in bytes.
func (f Floor) of(st *unix.Statfs_t) int64 {
	share := int64(f.Percent / 100 * float64(st.Blocks) * float64(st.Bsize))
	if f.Most > 0 {
		share = min(share, f.Most)
	}
	return max(f.Bytes, share)
}

// Available is the space that an ordinary user can take, in bytes.
func Available(st *unix.Statfs_t) int64 { return int64(st.Bavail) * st.Bsize }

// Statfs is fstatfs(2), repeated after a signal.
func Statfs(dir *os.File, st *unix.Statfs_t) error {
	for {
		if err := unix.Fstatfs(int(dir.Fd()), st); err != unix.EINTR {
			return err
		}
	}
}
