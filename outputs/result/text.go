package result

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/inodes"
)

// Count is a number with the word for what it counts: "1 process", "2 processes".
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Sentence is an error for a person and for one line: errors.Join puts each of its errors on one of its own.
func Sentence(err error) string { return strings.ReplaceAll(inodes.Explain(err).Error(), "\n", "; ") }
