package result

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/inodes"
)

// Sentence formats an error for people, on one line. The errors of an errors.Join, which are on lines of their own, are separated by semicolons.
func Sentence(err error) string { return strings.ReplaceAll(inodes.Explain(err).Error(), "\n", "; ") }
