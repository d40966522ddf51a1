package result

import (
	"bytes"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// Excerpt keeps, of any number of entries, the ListingMax whose paths come first: what a result lists.
type Excerpt struct {
	entries []outputs.Entry
	full    bool // the first ListingMax are sorted, and the last of them bounds what may still come in
}

// Add takes one more entry.
func (x *Excerpt) Add(e outputs.Entry) {
	if x.full && bytes.Compare(e.Path, x.entries[ListingMax-1].Path) > 0 {
		return
	}
	x.entries = append(x.entries, e)
	if len(x.entries) == 2*ListingMax { // so that sorting costs a few comparisons for each entry
		x.cut()
	}
}

// cut sorts and drops what is beyond.
func (x *Excerpt) cut() {
	slices.SortFunc(x.entries, func(a, b outputs.Entry) int { return bytes.Compare(a.Path, b.Path) })
	if len(x.entries) > ListingMax {
		clear(x.entries[ListingMax:])
		x.entries, x.full = x.entries[:ListingMax], true
	}
}

// Sorted returns the entries in the order of their paths.
func (x *Excerpt) Sorted() []outputs.Entry {
	x.cut()
	return x.entries
}
