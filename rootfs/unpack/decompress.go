package unpack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// decode decompresses a gzip or zstd stream; see Register.
var decode = func(io.Reader) (io.ReadCloser, error) {
	return nil, errors.New("this program has no decoders of gzip and zstd")
}

// Register sets what decompresses gzip and zstd streams, before any other call: that of package decoders, or one in another
// process.
func Register(d func(io.Reader) (io.ReadCloser, error)) { decode = d }

// Magic bytes of compressed streams.
var (
	gzipMagic  = []byte{0x1f, 0x8b}
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	xzMagic    = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	bzip2Magic = []byte{'B', 'Z', 'h'}
)

// Decompress decompresses a gzip or zstd stream, detected by its first bytes, and passes others unchanged. Above
// bounds.Ratio it returns ErrBound. It returns an error of r at its end, so that a digest that r verifies is verified.
func Decompress(r io.Reader, bounds Bounds) (io.ReadCloser, error) {
	in := &counted{r: r}
	buffered := bufio.NewReaderSize(in, 256<<10)
	magic, err := buffered.Peek(len(xzMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var plain io.ReadCloser
	switch {
	case bytes.HasPrefix(magic, gzipMagic), bytes.HasPrefix(magic, zstdMagic):
		plain, err = decode(buffered)
	case bytes.HasPrefix(magic, xzMagic), bytes.HasPrefix(magic, bzip2Magic):
		err = errors.New("only gzip and zstd are known to images, and this is xz or bzip2: compress it with gzip or zstd")
	default:
		return io.NopCloser(buffered), nil
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return &decompressed{plain: plain, in: in, rest: buffered, ratio: bounds.Ratio}, nil
}

type decompressed struct {
	plain io.ReadCloser
	in    *counted
	rest  io.Reader
	out   int64
	ratio int64
}

func (d *decompressed) Read(p []byte) (int, error) {
	n, err := d.plain.Read(p)
	d.out += int64(n)
	if d.out > ratioFree && d.out/d.ratio > d.in.n {
		return 0, beyond("times its compressed size", d.ratio)
	}
	if errors.Is(err, io.EOF) {
		if _, err := io.Copy(io.Discard, d.rest); err != nil {
			return n, err
		}
	} else if err != nil {
		err = fmt.Errorf("decompress: %w", err)
	}
	return n, err
}

func (d *decompressed) Close() error { return d.plain.Close() }

// counted counts bytes read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
