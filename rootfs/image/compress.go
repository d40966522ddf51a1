package image

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// compression is how a tar is stored.
type compression int

const (
	plainTar compression = iota
	gzipped
	zstandard
	unknownCompression // one that no layer may have
)

// maxWindow bounds the memory in bytes that a zstd frame may ask for; "zstd --long" stays below it.
const maxWindow = 128 << 20

// sniffed is how many bytes tell a compression: the magic of a tar stands in its first header, at 257.
const sniffed = 512

// signatures begin what is compressed: RFC 1952, RFC 8878, bzip2, xz, lz4.
var signatures = []struct {
	magic []byte
	kind  compression
}{
	{[]byte{0x1f, 0x8b}, gzipped},
	{[]byte{0x28, 0xb5, 0x2f, 0xfd}, zstandard},
	{[]byte("BZh"), unknownCompression},
	{[]byte{0xfd, '7', 'z', 'X', 'Z', 0}, unknownCompression},
	{[]byte{0x04, 0x22, 0x4d, 0x18}, unknownCompression},
}

// sniff tells the compression of what begins with head.
func sniff(head []byte) compression {
	for _, s := range signatures {
		if bytes.HasPrefix(head, s.magic) {
			return s.kind
		}
	}
	return plainTar
}

// mediaType is that of a layer so stored (image-spec, layer.md).
func (c compression) mediaType() string {
	switch c {
	case gzipped:
		return ocispec.MediaTypeImageLayerGzip
	case zstandard:
		return ocispec.MediaTypeImageLayerZstd
	}
	return ocispec.MediaTypeImageLayer
}

// decompress reads what r holds without its compression. Closing it leaves r open.
func decompress(r io.Reader, kind compression) (io.ReadCloser, error) {
	switch kind {
	case plainTar:
		return io.NopCloser(r), nil
	case gzipped:
		return gzip.NewReader(r)
	case zstandard:
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("it is compressed by something else than gzip or zstd; compress it by one of these")
}
