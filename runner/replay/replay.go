// Package replay compares what two runs of one analysis made, and guesses why they differ. Its only I/O are reads.
package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// File is one output.
type File struct {
	Path   string // its bytes
	Size   int64
	SHA256 string
	Mode   uint32
}

// Difference is one output that differs between the runs.
type Difference struct {
	Path string `json:"path"`
	Hint Hint   `json:"hint"`
	// Detail is a sentence about where they differ.
	Detail string `json:"detail"`
}

// Hint is the likely reason of a difference.
type Hint string

// The hints.
const (
	Missing   Hint = "missing"      // the replay has not made it
	New       Hint = "new"          // the recorded run had not made it
	Mode      Hint = "mode"         // only the permission bits
	TimeStamp Hint = "time_stamp"   // a date or a time
	Threads   Hint = "thread_count" // the last digits of numbers, or the order of lines
	Random    Hint = "random_seed"  // other numbers or digits, same positions
	Size      Hint = "size"         // another length; no more is known
	Content   Hint = "content"      // other bytes; no more is known
)

// Run is one of the two.
type Run struct {
	// Started and Ended are when it ran.
	Started, Ended time.Time
	// Open reads the start of one of its outputs.
	Open func(f File) ([]byte, error)
}

// Compare returns what differs, in path order. For an output that cannot be read any more the hint is based on its size.
func Compare(recorded, replayed []File, from, to Run) []Difference {
	before, after := byPath(recorded), byPath(replayed)
	all := maps.Clone(before)
	maps.Copy(all, after)
	var differ []Difference
	for _, path := range slices.Sorted(maps.Keys(all)) {
		a, was := before[path]
		b, is := after[path]
		switch {
		case !is:
			differ = append(differ, Difference{path, Missing, "the replay has not made it"})
		case !was:
			differ = append(differ, Difference{path, New, "the recorded run had not made it"})
		case a.SHA256 != b.SHA256:
			hint, detail := explain(a, b, from, to)
			differ = append(differ, Difference{path, hint, detail})
		case a.Mode != b.Mode:
			differ = append(differ, Difference{path, Mode, fmt.Sprintf("mode %04o, then %04o", a.Mode, b.Mode)})
		}
	}
	return differ
}

func byPath(files []File) map[string]File {
	all := make(map[string]File, len(files))
	for _, f := range files {
		all[f.Path] = f
	}
	return all
}

// explain guesses why two files differ.
func explain(a, b File, from, to Run) (Hint, string) {
	x, err := from.Open(a)
	y, other := to.Open(b)
	readable := err == nil && other == nil
	if readable {
		if hint, detail := guess(x, y, from, to); hint != "" {
			return hint, detail
		}
	}
	if a.Size != b.Size {
		return Size, fmt.Sprintf("%d bytes, then %d", a.Size, b.Size)
	}
	if i := firstDifference(x, y); readable && i >= 0 {
		return Content, fmt.Sprintf("%d bytes both, the first other one is byte %d", a.Size, i)
	}
	return Content, fmt.Sprintf("%d bytes both", a.Size)
}

// firstDifference is the offset of the first differing byte, -1 for none.
func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}
