// Package suggest ends a sentence that refuses a mistyped word with the word that was most likely meant.
package suggest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/spec"
)

// DidYouMean is the end of a sentence that names an unknown word; "" if no candidate is near. Words of two letters are near to too
// many.
func DidYouMean(word string, candidates []string, dashes string) string {
	if len(word) < 3 {
		return ""
	}
	return question(spec.Nearest(word, candidates), dashes)
}

// ID is DidYouMean for an id of a run. Generated ids share most of their characters, so few may differ.
func ID(id string, known []string) string {
	return question(spec.NearestWithin(id, known, min(2, max(1, len(id)/3))), "")
}

func question(near, dashes string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", dashes+near)
}

// Flag is DidYouMean for a flag without its dashes. The beginning of a single flag means that one.
func Flag(word string, flags []string) string {
	other := func(flag string) bool { return len(word) < 2 || !strings.HasPrefix(flag, strings.ToLower(word)) }
	if begins := slices.DeleteFunc(slices.Clone(flags), other); len(begins) == 1 {
		flags, word = begins, begins[0]
	}
	return question(spec.Nearest(word, flags), "--")
}

// List joins words for a sentence: "a, b or c".
func List(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
