package helper

import (
	"errors"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

const (
	stderrMax = 64 << 10
	saidMax   = 2000 // characters
)

// Stderr is the standard error for such a program: it keeps the beginning, which Failure reads.
func Stderr() *bounded.Buffer { return bounded.Head(stderrMax) }

// Failure returns why such a program failed, or nil if err is nil: the first line that it wrote, or err if there is none. A program
// that is out of memory writes all its stacks after that line.
func Failure(err error, stderr *bounded.Buffer) error {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	if err == nil || line == "" {
		return err
	}
	return errors.New(format.Cut(format.Escape(strings.TrimPrefix(line, "scidex-oci: "), format.Visible), saidMax))
}
