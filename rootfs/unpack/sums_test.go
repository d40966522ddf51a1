package unpack

import (
	"crypto/sha256"
	"testing"
)

// TestSumsOfUsedNumbers reuses inode numbers, as a file system does when a layer replaces files, so often that an
// unstable sort would mix up their order.
func TestSumsOfUsedNumbers(t *testing.T) {
	const numbers, rounds = 16, 64
	var s Sums
	for round := range byte(rounds) {
		for ino := range uint64(numbers) {
			h := sha256.New()
			h.Write([]byte{round, byte(ino)})
			s.add(ino, h)
		}
	}
	for ino := range uint64(numbers) {
		if of, known := s.Of(ino); !known || of != sha256.Sum256([]byte{rounds - 1, byte(ino)}) {
			t.Errorf("inode %d: the digest is not that of its last file (known: %v)", ino, known)
		}
	}
	if _, known := s.Of(numbers); known {
		t.Error("a number that no file had is known")
	}
}
