// Package suggest ends a sentence that refuses a mistyped word with the word that was most likely meant.
package suggest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/spec"
)

// DidYouMean is the end of a sentence that names an unknown word.
func DidYouMean(word string, candidates []string, dashes string) string {
	if near := spec.Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", dashes+near)
	}
	return ""
}

// Flag is DidYouMean for a flag without its dashes. The beginning of a single flag means that one.
func Flag(word string, flags []string) string {
	other := func(flag string) bool { return len(word) < 2 || !strings.HasPrefix(flag, strings.ToLower(word)) }
	if begins := slices.DeleteFunc(slices.Clone(flags), other); len(begins) == 1 {
		flags, word = begins, begins[0]
	}
	return DidYouMean(word, flags, "--")
}

// List joins words for a sentence: "a, b or c".
func List(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
