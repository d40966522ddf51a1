package runner

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// A record is a file that outlives the process that wrote it: lines of JSON, the first one its head, then one for
// each entry, and the digest of all these, so that a record that was cut short or damaged is told from a whole one.

// errDamaged is the error of a record that is not as it was written.
var errDamaged = errors.New("the file is damaged")

// lastLine ends a record: its length is the same for every digest.
func lastLine(sum hash.Hash) string { return fmt.Sprintf("{\"sha256\":\"%x\"}\n", sum.Sum(nil)) }

// writeRecord writes a record to an open file.
func writeRecord(f *os.File, head any, next func() (outputs.Entry, error)) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), smallChunk)
	lines := json.NewEncoder(out)
	if err := lines.Encode(head); err != nil {
		return err
	}
	for {
		entry, err := next()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a listing that was cut short
			break
		}
		if err == nil {
			err = lines.Encode(entry)
		}
		if err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := f.WriteString(lastLine(sum))
	return err
}

// unfinished ends the name of a record that is being written.
const unfinished = ".tmp"

// keepRecord writes a record that outlives a power cut. It is there whole or not at all.
func keepRecord(path string, head any, next func() (outputs.Entry, error)) (err error) {
	if err := makeDurable(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := createRecord(path + unfinished)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path + unfinished) // the error that counts is the one before
		}
	}()
	if err := errors.Join(writeRecord(f, head, next), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func createRecord(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
}

// makeDurable makes a directory and its name in the one above, which exists.
func makeDurable(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// syncDir makes the names in a directory durable (fsync(2)).
func syncDir(path string) error {
	dir, err := openDir(unix.AT_FDCWD, path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// record is one that is read.
type record struct {
	file  *os.File
	lines *json.Decoder // after the head
}

// openRecord opens a whole record and reads its head; any other is errDamaged. Close it.
func openRecord(path string, head any) (_ *record, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	r := &record{file: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	content, err := r.content()
	if err != nil {
		return nil, err
	}
	r.lines = json.NewDecoder(bufio.NewReaderSize(content, chunk))
	if err := r.lines.Decode(head); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return r, nil
}

// content is what the digest is of, verified.
func (r *record) content() (io.Reader, error) {
	info, err := r.file.Stat()
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	size := info.Size() - int64(len(lastLine(sum)))
	if size < 0 {
		return nil, errDamaged
	}
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, 0, size)); err != nil {
		return nil, err
	}
	last, err := io.ReadAll(io.NewSectionReader(r.file, size, info.Size()-size))
	if err != nil {
		return nil, err
	}
	if string(last) != lastLine(sum) {
		return nil, errDamaged
	}
	return io.NewSectionReader(r.file, 0, size), nil
}

// peekRecord reads the head of a record and does not look at the rest.
func peekRecord(path string, head any) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := json.NewDecoder(bufio.NewReader(f)).Decode(head); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// next returns the entries up to io.EOF.
func (r *record) next() (entry outputs.Entry, err error) {
	err = r.lines.Decode(&entry)
	if err == nil || err == io.EOF { //nolint:errorlint // as it comes
		return entry, err
	}
	return entry, fmt.Errorf("%w: %w", errDamaged, err)
}

// each calls do for every entry.
func (r *record) each(do func(outputs.Entry)) error {
	for {
		entry, err := r.next()
		if err == io.EOF { //nolint:errorlint // as it comes
			return nil
		}
		if err != nil {
			return err
		}
		do(entry)
	}
}

func (r *record) close() error { return r.file.Close() }
