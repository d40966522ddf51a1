package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quote formats a value for a message: escaped for terminals, and short.
func quote(s string) string {
	const most = 60 // bytes; enough to recognise a value
	if len(s) <= most {
		return strconv.Quote(s)
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(s[:end]), len(s))
}

// oneOf refuses a value other than the allowed words; empty is unset.
func oneOf(field, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return badField(field, "%s is not known, it must be %s%s",
		quote(value), strings.Join(allowed, " or "), suggestion(value, allowed))
}

// suggestion is a "did you mean" for an unknown word, or empty.
func suggestion(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// Nearest returns the known word that word may be a typo of, or "": up to one mistake in three letters, and case counts for
// nothing.
func Nearest(word string, known []string) string {
	return NearestWithin(word, known, max(1, len(word)/3))
}

// NearestWithin is Nearest with at most so many mistakes.
func NearestWithin(word string, known []string, mistakes int) string {
	const longest = 64 // longer ones are no typos; the table stays small
	if len(word) > longest {
		return ""
	}
	best, bestDistance := "", mistakes+1
	for _, k := range known {
		if d := editDistance(word, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbours from a to b (optimal string
// alignment), in bytes.
func editDistance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
