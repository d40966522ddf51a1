package unpack

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Bounds limit an image, all its layers together. Zero allows nothing: start with DefaultBounds.
type Bounds struct {
	Bytes     int64 // of the uncompressed layers, and of the files in them
	FileBytes int64 // of one file
	Entries   int64 // of the archives, including skipped ones
	Names     int64 // bytes of the paths of all entries: some are kept in memory
	Path      int   // bytes per path
	Depth     int   // components of a path
	Ratio     int64 // uncompressed bytes per byte read, after the first ratioFree bytes
}

// ratioFree is how much a layer may expand to at any ratio: a file of zeros is no attack, and takes gzip to 1:1000.
const ratioFree = 1 << 30

// DefaultBounds allow the largest scientific images, and stop a bomb before a usual disk is full. Path is Linux's
// PATH_MAX less one.
func DefaultBounds() Bounds {
	return Bounds{
		Bytes: 128 << 30, FileBytes: 64 << 30, Entries: 2_000_000, Names: 256 << 20,
		Path: 4095, Depth: 128, Ratio: 100,
	}
}

// ErrBound refuses an image that exceeds its bounds.
var ErrBound = errors.New("the image is beyond the bounds for images")

func beyond(what string, bound any) error {
	return fmt.Errorf("%w: more than %v %s", ErrBound, bound, what)
}

func beyondBytes(what string, bound int64) error {
	return beyond(what, format.Size(bound))
}
