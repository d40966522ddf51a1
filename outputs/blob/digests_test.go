package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func digestOf(n int) string {
	sum := sha256.Sum256(fmt.Append(nil, n))
	return hex.EncodeToString(sum[:])
}

func TestDigests(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000, 200_000} {
		d := &Digests{}
		for _, i := range rand.Perm(n) {
			d.Add(digestOf(2 * i))
			if i%100 == 0 {
				d.Add(digestOf(2 * i)) // once more
			}
		}
		for i := range min(n, 5000) {
			if !d.Has(digestOf(2 * i)) {
				t.Errorf("of %d, %d is not found", n, i)
			}
		}
		for i := range 5000 {
			if d.Has(digestOf(2*i + 1)) {
				t.Errorf("of %d, %d is found, which was not added", n, i)
			}
		}
	}
}

// TestDigestsAtTheEdges: the least and the greatest, and those that differ in their last bit.
func TestDigestsAtTheEdges(t *testing.T) {
	least, greatest := strings.Repeat("0", 64), strings.Repeat("f", 64)
	d := &Digests{}
	d.Add(greatest)
	d.Add(least)
	for digest, want := range map[string]bool{
		least: true, greatest: true, least[1:] + "1": false, greatest[1:] + "e": false,
		"": false, "x": false, greatest + "f": false, greatest[1:] + "x": false,
	} {
		if got := d.Has(digest); got != want {
			t.Errorf("%q: %v", digest, got)
		}
	}
}

// TestInvalidDigests: an invalid digest is in no set, and does not change one.
func TestInvalidDigests(t *testing.T) {
	d := &Digests{}
	for _, none := range []string{"", "abc", strings.Repeat("g", 64), strings.Repeat("a", 66)} {
		d.Add(none)
		if d.Has(none) {
			t.Errorf("%q is in it", none)
		}
	}
}

// BenchmarkDigests is the time that gc needs for each blob of a large store.
func BenchmarkDigests(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		names := make([]string, n)
		for i := range names {
			names[i] = digestOf(i)
		}
		slices.Sort(names) // as a catalog lists them
		for i := range names {
			names[i] = strings.Clone(names[i]) // one after the other in memory, as they come
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				d := &Digests{}
				for _, name := range names {
					d.Add(name)
				}
				for _, name := range names {
					if !d.Has(name) {
						b.Fatal(name)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/blob")
		})
	}
}
