package outputs

import (
	"cmp"
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// linked is an inode with several names. It is harvested once all of them were found in the tree: a name outside of it
// was not made by the analysis.
type linked struct {
	seq     int    // in the order of discovery
	want    uint64 // names that the inode has
	found   uint64 // names found so far, excluded ones too
	outputs []treeName
}

// treeName is a name in a directory of the tree.
type treeName struct {
	dir  *node
	name string
}

// link records one name of an inode and harvests the inode with its last name. Excluded names count, but are no outputs.
func (h *harvest) link(name string, st *unix.Stat_t, output bool) error {
	id := identity(st)
	l := h.links[id]
	if l == nil {
		h.linkeds++
		l = &linked{seq: h.linkeds, want: uint64(st.Nlink)}
		h.links[id] = l
	}
	l.found++
	if output {
		l.outputs = append(l.outputs, treeName{h.walk.top().dir, name})
	}
	if l.found < l.want {
		return nil
	}
	places := l.outputs
	delete(h.links, id) // keep only incomplete ones in memory
	if len(places) == 0 {
		return nil
	}
	e, _, err := h.ingest(name, st) // copied (several names), so it has a digest
	return h.linkedVerdict(places, e, err)
}

// linkedVerdict gives all names of one inode the same verdict.
func (h *harvest) linkedVerdict(places []treeName, e Entry, err error) error {
	var r *refusal
	if err != nil && !errors.As(err, &r) {
		return err
	}
	for _, p := range places {
		path := p.dir.child(p.name)
		if r != nil {
			err = h.reject(path, r)
		} else {
			err = h.output(e, path, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leftLinks rejects the names of inodes that have further names outside the tree or behind a bound.
func (h *harvest) leftLinks() error {
	left := make([]*linked, 0, len(h.links))
	for _, l := range h.links {
		if len(l.outputs) > 0 {
			left = append(left, l)
		}
	}
	slices.SortFunc(left, func(a, b *linked) int { return cmp.Compare(a.seq, b.seq) })
	for _, l := range left {
		err := h.linkedVerdict(l.outputs, Entry{}, refuse(Hardlink, "%d of its %d names were found", l.found, l.want))
		if err != nil {
			return err
		}
	}
	return nil
}
