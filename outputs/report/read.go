package report

import (
	"errors"
	"io"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
)

// verifyMax is the size, in bytes, up to which a blob is read to its end, so that the store verifies it, although only its
// start is shown.
const verifyMax = 16 << 20

// unread explains why contents are not shown.
func unread(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "Not shown: its contents are not in the blob store."
	}
	return "Not shown: " + err.Error() + "."
}

// whole reads a blob of at most most bytes.
func whole(blobs Blobs, sha256 string, most int64) (content []byte, err error) {
	return content, with(blobs, sha256, func(r io.Reader) error {
		content, err = bounded.ReadAll(r, most)
		return err
	})
}

// start reads the first bytes of a blob. It is verified if it has no more than verifyMax bytes.
func start(blobs Blobs, sha256 string, most int64) (content []byte, err error) {
	return content, with(blobs, sha256, func(r io.Reader) error {
		if content, err = io.ReadAll(io.LimitReader(r, most)); err != nil {
			return err
		}
		_, err := io.CopyN(io.Discard, r, verifyMax)
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
}

func with(blobs Blobs, sha256 string, read func(io.Reader) error) (err error) {
	r, err := blobs.Open(sha256)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return read(r)
}

// ends are the two ends of a text.
type ends struct {
	Head, Tail string
	Omitted    int64  // bytes between them
	Why        string // a sentence, if nothing is shown
}

// bothEnds reads a blob to its end and keeps the first and the last bytes. It cuts between lines if there are any.
func bothEnds(blobs Blobs, sha256 string, head, tail int) ends {
	var first, last []byte
	var total int64
	err := with(blobs, sha256, func(r io.Reader) error {
		first = make([]byte, head)
		n, err := io.ReadFull(r, first)
		first, total = first[:n], int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		end := bounded.Tail(tail)
		rest, err := io.Copy(end, r)
		last, total = end.Bytes(), total+rest
		return err
	})
	if err != nil {
		return ends{Why: unread(err)}
	}
	return join(first, last, total)
}

func join(first, last []byte, total int64) ends {
	if int64(len(first)+len(last)) == total {
		return ends{Head: string(first) + string(last)}
	}
	head, tail := wholeLines(string(first)), afterLine(string(last))
	return ends{Head: head, Tail: tail, Omitted: total - int64(len(head)+len(tail))}
}
