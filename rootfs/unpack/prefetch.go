package unpack

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	digest "github.com/opencontainers/go-digest"
)

// prefetcher reads and hashes a stream in a goroutine, a few blocks ahead: decompression and digest use another core than the
// making of files.
type prefetcher struct {
	blocks chan block
	free   chan []byte
	quit   chan struct{}
	sum    hash.Hash // of all blocks, once the last is received

	current block
	left    []byte
}

type block struct {
	data []byte
	err  error // after data
}

const (
	aheadBlock  = 512 << 10
	aheadBlocks = 4
)

// readAhead starts reading. stop ends it.
func readAhead(r io.Reader) *prefetcher {
	a := &prefetcher{
		blocks: make(chan block, aheadBlocks),
		free:   make(chan []byte, aheadBlocks),
		quit:   make(chan struct{}),
		sum:    sha256.New(),
	}
	for range aheadBlocks {
		a.free <- make([]byte, aheadBlock)
	}
	go a.run(r)
	return a
}

func (a *prefetcher) run(r io.Reader) {
	defer close(a.blocks)
	for {
		var buf []byte
		select {
		case buf = <-a.free:
		case <-a.quit:
			return
		}
		n, err := fill(r, buf)
		a.sum.Write(buf[:n])
		select {
		case a.blocks <- block{buf[:n], err}:
		case <-a.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// fill reads until buf is full or r ends. io.ReadFull would not distinguish an end from a truncated stream.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

func (a *prefetcher) Read(p []byte) (int, error) {
	for len(a.left) == 0 {
		if a.current.err != nil {
			return 0, a.current.err
		}
		if a.current.data != nil {
			a.free <- a.current.data[:aheadBlock]
		}
		next, ok := <-a.blocks
		if !ok {
			return 0, errors.New("read after the end")
		}
		a.current, a.left = next, next.data
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

// digest is the whole stream's, after Read returned io.EOF.
func (a *prefetcher) digest() digest.Digest {
	return digest.NewDigest(digest.SHA256, a.sum)
}

// stop returns when reading has ended.
func (a *prefetcher) stop() {
	close(a.quit)
	for range a.blocks { //nolint:revive // until it is closed
	}
}
