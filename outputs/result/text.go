package result

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/inodes"
)

// Sentence formats an error for people on one line: errors.Join puts each of its errors on a separate one.
func Sentence(err error) string { return strings.ReplaceAll(inodes.Explain(err).Error(), "\n", "; ") }
