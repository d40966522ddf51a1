// Package suggest finds the word that a mistyped one most likely meant.
package suggest

import (
	"fmt"
	"strings"
)

// nearest is the candidate that word most likely meant, or "" where none is near: at most one edit per three letters, and
// one for a short word.
func nearest(word string, candidates []string) string {
	best, distance := "", max(1, len(word)/3)+1
	for _, candidate := range candidates {
		if d := edits(word, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// DidYouMean is the end of a sentence that names an unknown word.
func DidYouMean(word string, candidates []string, dashes string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", dashes+near)
	}
	return ""
}

// edits counts the insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment
// distance), in bytes and ignoring case.
func edits(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := above[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(above[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
