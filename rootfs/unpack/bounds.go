package unpack

import (
	"errors"
	"fmt"

	units "github.com/docker/go-units"
)

// Bounds are what an image may take at most, all its layers together. Zero allows nothing: begin with
// DefaultBounds.
type Bounds struct {
	Bytes     int64 // of the layers without compression, and of the files that they unfold to
	FileBytes int64 // of one file
	Entries   int64 // of the archives, with those that are skipped
	Path      int   // bytes of a path
	Depth     int   // directories and name in a path
	Ratio     int64 // bytes without compression for each byte read, beyond the first RatioFree bytes
}

// RatioFree is how much a layer may unfold to whatever its compression: a file of zeros is no attack
// yet, and takes gzip to 1:1000.
const RatioFree = 1 << 30

// DefaultBounds leave room for the largest images that science uses and end a bomb before a usual disk
// is full. Path is one less than PATH_MAX of Linux.
func DefaultBounds() Bounds {
	return Bounds{Bytes: 128 << 30, FileBytes: 64 << 30, Entries: 2_000_000, Path: 4095, Depth: 128, Ratio: 100}
}

// ErrBound is what an image that takes more than its bounds is refused with.
var ErrBound = errors.New("the image is beyond the bounds for images")

func beyond(what string, bound any) error {
	return fmt.Errorf("%w: more than %v %s", ErrBound, bound, what)
}

func beyondBytes(what string, bound int64) error {
	return beyond(what, units.BytesSize(float64(bound)))
}
