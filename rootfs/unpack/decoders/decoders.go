// Package decoders decompresses gzip and zstd in this process. Only scidex-oci-net links it, and scidex-oci executes
// that program, since zstd makes its tables at each start (docs/adr/0043).
package decoders

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// zstdWindow bounds the memory of a zstd frame: that of "zstd --ultra --long=27".
const zstdWindow = 128 << 20

// Decode decompresses a stream of gzip or, if it does not begin as such, of zstd.
func Decode(r io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(r)
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		return gzip.NewReader(buffered)
	}
	d, err := zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}
