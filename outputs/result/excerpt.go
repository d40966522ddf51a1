package result

import (
	"bytes"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// Excerpt keeps, of any number of entries, the ListingMax first by path: those a result lists.
type Excerpt struct {
	entries []outputs.Entry
	full    bool // the first ListingMax are sorted, and the last of them is the upper bound
}

// Add adds one entry.
func (x *Excerpt) Add(e outputs.Entry) {
	if x.full && bytes.Compare(e.Path, x.entries[ListingMax-1].Path) > 0 {
		return
	}
	x.entries = append(x.entries, e)
	if len(x.entries) == 2*ListingMax { // to limit sorting to a few comparisons per entry
		x.cut()
	}
}

// cut sorts and drops the rest.
func (x *Excerpt) cut() {
	slices.SortFunc(x.entries, byPath)
	if len(x.entries) > ListingMax {
		clear(x.entries[ListingMax:])
		x.entries, x.full = x.entries[:ListingMax], true
	}
}

// Sorted returns the entries sorted by path. It drops none, so that a copy of the excerpt stays what it is.
func (x *Excerpt) Sorted() []outputs.Entry {
	slices.SortFunc(x.entries, byPath)
	return x.entries[:min(len(x.entries), ListingMax)]
}

func byPath(a, b outputs.Entry) int { return bytes.Compare(a.Path, b.Path) }
