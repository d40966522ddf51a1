package result

import (
	"fmt"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
)

func entry(i int) outputs.Entry { return outputs.Entry{Path: fmt.Appendf(nil, "dir/\xff\n%07d", i)} }

// TestExcerpt: an excerpt has the first entries by path, in whatever order they came.
func TestExcerpt(t *testing.T) {
	for _, n := range []int{0, 3, ListingMax, ListingMax + 1, 2 * ListingMax, 5*ListingMax + 7} {
		var x Excerpt
		for i := range n {
			x.Add(entry(i * 7919 % n)) // 7919 is a prime that no n has
			if len(x.entries) > 2*ListingMax {
				t.Fatalf("%d entries are held", len(x.entries))
			}
		}
		same := x
		same.Sorted() // by one reader
		got := x.Sorted()
		if len(got) != min(n, ListingMax) {
			t.Errorf("%d of %d entries", len(got), n)
		}
		for i, e := range got {
			if string(e.Path) != string(entry(i).Path) {
				t.Fatalf("entry %d of %d is %q", i, n, e.Path)
			}
		}
	}
}
