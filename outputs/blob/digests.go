package blob

import (
	"bytes"
	"encoding/hex"
	"slices"
)

// Digests is a set of SHA-256, 32 bytes each: a large catalog has millions. All are added before the first lookup.
type Digests struct {
	all    [][32]byte
	sorted bool
}

// Add adds one in hex. Invalid ones, which name no blob, are ignored.
func (d *Digests) Add(sha256 string) {
	if one, ok := parseDigest(sha256); ok {
		d.all = append(d.all, one)
	}
}

// Has may be called once all are added.
func (d *Digests) Has(sha256 string) bool {
	one, ok := parseDigest(sha256)
	if !ok {
		return false
	}
	if !d.sorted {
		slices.SortFunc(d.all, compareDigests) // a catalog gives them in order
		d.sorted = true
	}
	_, found := slices.BinarySearchFunc(d.all, one, compareDigests)
	return found
}

func compareDigests(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }

func parseDigest(sha256 string) (digest [32]byte, ok bool) {
	if len(sha256) != hex.EncodedLen(len(digest)) {
		return digest, false
	}
	_, err := hex.Decode(digest[:], []byte(sha256))
	return digest, err == nil
}
