package result

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/inodes"
)

// Count formats a number and its unit: "1 process", "2 processes".
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Sentence formats an error for people on one line: errors.Join puts each of its errors on a separate one.
func Sentence(err error) string { return strings.ReplaceAll(inodes.Explain(err).Error(), "\n", "; ") }
