package outputs

import (
	"context"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// The default bounds of a walk.
const (
	defaultMaxEntries = 100_000
	defaultMaxBytes   = 1 << 30
	defaultMaxDepth   = 256
	defaultMaxPath    = 4096
)

// aCentury is the greatest MaxTime, in seconds: a time.Duration ends below three.
const aCentury = 100 * 365 * 24 * 3600

// Bounds limit what is taken from a tree. A zero field means its default.
type Bounds struct {
	// MaxEntries of any kind, directories and rejected ones included.
	MaxEntries int64
	// MaxBytes of all taken files together.
	MaxBytes int64
	// MaxDepth is the number of components of a path.
	MaxDepth int
	// MaxPath is the length of a path in bytes.
	MaxPath int
	// MaxTime limits a harvest; other walks ignore it. Default: an hour, plus a second for every 16 MiB of MaxBytes and one
	// for every 1,000 of MaxEntries: far more than a slow disk needs, but an end for a file system that does not answer or a
	// file that is all hole.
	MaxTime time.Duration
}

func (b Bounds) withDefaults() Bounds {
	if b.MaxEntries == 0 {
		b.MaxEntries = defaultMaxEntries
	}
	if b.MaxBytes == 0 {
		b.MaxBytes = defaultMaxBytes
	}
	if b.MaxDepth == 0 {
		b.MaxDepth = defaultMaxDepth
	}
	if b.MaxPath == 0 {
		b.MaxPath = defaultMaxPath
	}
	if b.MaxTime == 0 {
		seconds := 3600 + b.MaxBytes>>24 + b.MaxEntries/1000
		b.MaxTime = time.Duration(min(seconds, aCentury)) * time.Second
	}
	return b
}

// timed ends when the harvest exceeds its time limit; its cause then says so.
func (b Bounds) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, b.MaxTime, fmt.Errorf(
		"it took longer than %v, which is what bounds of %s and %d entries give it", b.MaxTime, format.Size(b.MaxBytes), b.MaxEntries))
}
