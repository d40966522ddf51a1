package app

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
)

// checkKind refuses a file that is no batch. Without it each line would be refused.
func (b *batchInvocation) checkKind() error {
	if b.lines.File == nil {
		return nil
	}
	var kind error
	from := io.NewSectionReader(b.lines.File, 0, math.MaxInt64)
	first := batch.NewReader(from, b.lines.Name, func(text []byte, number int) dispatch.Line {
		kind = batch.CheckKind(text)
		return dispatch.Line{Number: number}
	})
	if _, err := first.Next(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if kind != nil {
		return fmt.Errorf("batch: %s %w", b.lines.Name, kind)
	}
	return nil
}
