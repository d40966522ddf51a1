package seal

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
)

// list is a record's list, compared with a root line by line.
type list struct {
	file  *os.File
	lines *bufio.Reader
	uid   uint32
	buf   []byte
}

// openList verifies and opens a record's list.
func (r *Record) openList() (*list, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return nil, err
	}
	l := &list{file: f, uid: r.header.Owner}
	sum := sha256.New()
	_, err = io.Copy(sum, l.section(&r.header))
	if err == nil && !bytes.Equal(sum.Sum(nil), r.header.ListSum[:]) {
		err = fmt.Errorf("%w: the digest of its list is wrong", ErrRecord)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	l.lines = bufio.NewReaderSize(l.section(&r.header), 64<<10)
	return l, nil
}

func (l *list) section(h *header) io.Reader {
	return io.NewSectionReader(l.file, headerBytes, h.ListBytes)
}

func (l *list) Close() error { return l.file.Close() }

// holds walks a root, which must match the list, and calls visit for each matching entry.
func (l *list) holds(ctx context.Context, w *walk, visit func(*entry) error) error {
	if w.top.Uid != l.uid {
		return fmt.Errorf("%w: it belongs to the user %d and not to %d", ErrChanged, w.top.Uid, l.uid)
	}
	err := w.run(ctx, func(e *entry) error {
		if err := l.compare(e); err != nil {
			return err
		}
		return visit(e)
	})
	if errors.Is(err, errUnfit) { // when it was sealed it was not
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err != nil {
		return err
	}
	return l.end()
}

// compare compares the root's next entry with the list's.
func (l *list) compare(e *entry) error {
	want, err := l.next()
	if err != nil {
		return err
	}
	l.buf = e.line(l.buf[:0])
	if bytes.Equal(want, l.buf) {
		return nil
	}
	path := pathOf(want)
	switch {
	case len(want) == 0 || e.path < path:
		return fmt.Errorf("%w: %q was added", ErrChanged, e.path)
	case e.path > path:
		return fmt.Errorf("%w: %q was removed", ErrChanged, path)
	}
	return fmt.Errorf("%w: %q is not what it was", ErrChanged, name(path))
}

// end refuses a root shorter than its list.
func (l *list) end() error {
	want, err := l.next()
	if err == nil && len(want) > 0 {
		err = fmt.Errorf("%w: %q was removed", ErrChanged, pathOf(want))
	}
	return err
}

// next returns a line, empty at the end.
func (l *list) next() ([]byte, error) {
	line, err := l.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}
