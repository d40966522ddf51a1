package runner

import (
	"bytes"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// excerpt keeps, of any number of entries, the listingMax whose paths come first: what a result lists.
type excerpt struct {
	entries []outputs.Entry
	full    bool // the first listingMax are sorted, and the last of them bounds what may still come in
}

func (x *excerpt) add(e outputs.Entry) {
	if x.full && bytes.Compare(e.Path, x.entries[listingMax-1].Path) > 0 {
		return
	}
	x.entries = append(x.entries, e)
	if len(x.entries) == 2*listingMax { // so that sorting costs a few comparisons for each entry
		x.cut()
	}
}

// cut sorts and drops what is beyond.
func (x *excerpt) cut() {
	slices.SortFunc(x.entries, func(a, b outputs.Entry) int { return bytes.Compare(a.Path, b.Path) })
	if len(x.entries) > listingMax {
		clear(x.entries[listingMax:])
		x.entries, x.full = x.entries[:listingMax], true
	}
}

// first are the entries in the order of their paths.
func (x *excerpt) first() []outputs.Entry {
	x.cut()
	return x.entries
}
