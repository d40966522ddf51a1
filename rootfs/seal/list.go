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

	"golang.org/x/sys/unix"
)

// list is the list of a record, compared with a root line by line.
type list struct {
	file  *os.File
	lines *bufio.Reader
	uid   uint32
	buf   []byte
}

// openList opens the list of a record after a look whether it is whole.
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

// holds goes through a root, which must be as the list says, and calls visit for each entry that is.
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
	if err != nil {
		return change(err)
	}
	return l.end()
}

// change says of an error of the walk through a root that was sealed once whether it is a change: what
// its owner could open and look at then.
func change(err error) error {
	for _, is := range []error{
		errUnfit, unix.EACCES, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ENXIO, unix.ENAMETOOLONG,
	} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
	}
	return err
}

// compare takes the next entry of the root, which must be the next of the list.
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

// end refuses a root that ends before its list.
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
