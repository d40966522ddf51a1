// Package record keeps files that outlive the process that wrote them: lines of JSON, the first one a head, then one for
// each entry, and a digest of all these, which detects truncated and damaged records.
package record

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/outputs"
)

// ErrDamaged is the error of a damaged record.
var ErrDamaged = errors.New("the file is damaged")

// ErrNewer is the error of a record whose form this program does not know. The record is not damaged, and must be kept.
var ErrNewer = errors.New("a newer scidex-oci wrote it; use that one")

// version is that of all forms of records; their heads have it in the field v.
const version = 1

// readHead decodes the head of a record, and refuses one of a later version.
func readHead(lines *json.Decoder, head any) error {
	var raw json.RawMessage
	var form struct{ V int }
	if err := lines.Decode(&raw); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := json.Unmarshal(raw, &form); err == nil && form.V > version {
		return fmt.Errorf("the file has version %d of its form, and this program knows version %d: %w", form.V, version, ErrNewer)
	}
	if err := json.Unmarshal(raw, head); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// lastLine ends a record: its length is the same for every digest.
func lastLine(sum hash.Hash) string { return fmt.Sprintf("{\"sha256\":\"%x\"}\n", sum.Sum(nil)) }

// Write writes a record to an open file.
func Write(f *os.File, head any, next func() (outputs.Entry, error)) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 4<<10)
	lines := json.NewEncoder(out)
	if err := lines.Encode(head); err != nil {
		return err
	}
	for {
		entry, err := next()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a truncated listing
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

// Unfinished is the suffix of an unfinished record.
const Unfinished = ".tmp"

// Keep writes a record that survives a power cut, whole or not at all.
func Keep(path string, head any, next func() (outputs.Entry, error)) error {
	if err := makeDurable(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.Write(path, path+Unfinished, atomicfile.Durable, func(f *os.File) error { return Write(f, head, next) })
}

// KeepFirst is Keep for a name that several processes may give, also on machines that share the file system: the first
// one gives it, and the others get fs.ErrExist.
func KeepFirst(path string, head any, next func() (outputs.Entry, error)) error {
	if err := makeDurable(filepath.Dir(path)); err != nil {
		return err
	}
	temp := path + "." + rand.Text() + Unfinished
	return atomicfile.WriteFirst(path, temp, atomicfile.Durable, func(f *os.File) error { return Write(f, head, next) })
}

// Create makes or truncates the file of a record for Write.
func Create(path string) (*os.File, error) {
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
	return atomicfile.SyncDir(filepath.Dir(dir))
}

// Record is an open record.
type Record struct {
	file  *os.File
	lines *json.Decoder // after the head
}

// Open opens a whole record and reads its head; others are ErrDamaged, or ErrNewer. Close it.
func Open(path string, head any) (_ *Record, err error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	r := &Record{file: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	content, err := r.content()
	if err != nil {
		return nil, err
	}
	r.lines = json.NewDecoder(bufio.NewReaderSize(content, 64<<10))
	if err := readHead(r.lines, head); err != nil {
		return nil, err
	}
	return r, nil
}

func open(path string) (*os.File, error) {
	f, err := regular.Open(path)
	if errors.Is(err, regular.ErrIrregular) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return f, err
}

// content is the digested part, verified.
func (r *Record) content() (io.Reader, error) {
	info, err := r.file.Stat()
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	size := info.Size() - int64(len(lastLine(sum)))
	if size < 0 {
		return nil, ErrDamaged
	}
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, 0, size)); err != nil {
		return nil, err
	}
	last, err := io.ReadAll(io.NewSectionReader(r.file, size, info.Size()-size))
	if err != nil {
		return nil, err
	}
	if string(last) != lastLine(sum) {
		return nil, ErrDamaged
	}
	return io.NewSectionReader(r.file, 0, size), nil
}

// Peek reads the head of a record and ignores the rest.
func Peek(path string, head any) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return readHead(json.NewDecoder(bufio.NewReader(f)), head)
}

// Next returns the entries up to io.EOF.
func (r *Record) Next() (entry outputs.Entry, err error) {
	err = r.lines.Decode(&entry)
	if err == nil || err == io.EOF { //nolint:errorlint // as it comes
		return entry, err
	}
	return entry, fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Each calls do for every entry.
func (r *Record) Each(do func(outputs.Entry)) error {
	for {
		entry, err := r.Next()
		if err == io.EOF { //nolint:errorlint // as it comes
			return nil
		}
		if err != nil {
			return err
		}
		do(entry)
	}
}

// Close closes the file.
func (r *Record) Close() error { return r.file.Close() }
