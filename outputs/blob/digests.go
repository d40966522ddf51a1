package blob

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Digests is a set of SHA-256, 32 bytes each: a large catalog has millions. All are added before the first lookup.
type Digests struct {
	all [][32]byte
	// from has the start of the digests whose first two bytes are its index: they are spread evenly, so a lookup takes the
	// same time for any number.
	from []int
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
	if d.from == nil {
		d.order()
	}
	first := prefix(one)
	_, found := slices.BinarySearchFunc(d.all[d.from[first]:d.from[first+1]], one, compareDigests)
	return found
}

func (d *Digests) order() {
	slices.SortFunc(d.all, compareDigests) // a catalog gives them in order
	d.from = make([]int, 1<<16+1)
	for _, one := range d.all {
		d.from[prefix(one)+1]++
	}
	for i := range 1 << 16 {
		d.from[i+1] += d.from[i]
	}
}

func prefix(digest [32]byte) int { return int(binary.BigEndian.Uint16(digest[:])) }

func compareDigests(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }

func parseDigest(sha256 string) (digest [32]byte, ok bool) {
	if len(sha256) != hex.EncodedLen(len(digest)) {
		return digest, false
	}
	_, err := hex.Decode(digest[:], []byte(sha256))
	return digest, err == nil
}
