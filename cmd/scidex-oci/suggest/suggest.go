// Package suggest ends a sentence that refuses a mistyped word with the word that was most likely meant.
package suggest

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/spec"
)

// DidYouMean is the end of a sentence that names an unknown word.
func DidYouMean(word string, candidates []string, dashes string) string {
	if near := spec.Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", dashes+near)
	}
	return ""
}
