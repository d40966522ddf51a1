package image

import (
	"bytes"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// compression is how a layer is stored.
type compression int

const (
	plainTar compression = iota
	gzipped
	zstandard
	unknownCompression // not allowed for a layer
)

// sniffed is the number of bytes by which a compression is detected.
const sniffed = 16

// sniff detects the compression from the first bytes (RFC 1952, RFC 8878, bzip2, xz).
func sniff(head []byte) compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzipped
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstandard
	case bytes.HasPrefix(head, []byte("BZh")), bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return unknownCompression
	}
	return plainTar
}

// mediaType is that of a layer in it (image-spec, layer.md).
func (c compression) mediaType() string {
	switch c {
	case gzipped:
		return ocispec.MediaTypeImageLayerGzip
	case zstandard:
		return ocispec.MediaTypeImageLayerZstd
	default:
		return ocispec.MediaTypeImageLayer
	}
}
