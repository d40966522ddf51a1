package unpack

import (
	"cmp"
	"crypto/sha256"
	"hash"
	"slices"
)

// Sums has the SHA-256 digests of files by inode number, computed while writing: 40 bytes each. A reused number has the
// last file's digest.
type Sums struct {
	list   []sum
	sorted bool
}

type sum struct {
	ino uint64
	of  [sha256.Size]byte
}

func (s *Sums) add(ino uint64, h hash.Hash) {
	s.list = append(s.list, sum{ino: ino})
	h.Sum(s.list[len(s.list)-1].of[:0])
	s.sorted = false
}

// Of returns the digest of a file written here, by inode number. The first call after a layer sorts; calls must not
// overlap.
func (s *Sums) Of(ino uint64) (of [sha256.Size]byte, known bool) {
	if !s.sorted {
		slices.SortStableFunc(s.list, func(a, b sum) int { return cmp.Compare(a.ino, b.ino) })
		s.sorted = true
	}
	// The last of equals precedes the first greater one.
	next, _ := slices.BinarySearchFunc(s.list, ino, func(a sum, ino uint64) int {
		if a.ino <= ino {
			return -1
		}
		return 1
	})
	if next == 0 || s.list[next-1].ino != ino {
		return of, false
	}
	return s.list[next-1].of, true
}
