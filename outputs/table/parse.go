package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// visit takes one row of an output: the names of its cells, and these. Both are valid until it returns.
type visit func(names []string, cells []Cell) error

// parser reads the rows of an output to its end.
type parser func(from *bounded, row visit) error

// ReadError is an error of reading an output's content, which says nothing about that.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Read reads the rows of an output, whose format its name or its first bytes say, always to its end: a damaged blob is known
// there. An error of reading the content is a *ReadError; others are of a row or what row returns.
func Read(name string, content io.Reader, row func(names []string, cells []Cell) error) error {
	from := newBounded(content)
	start, err := from.Peek(readAhead)
	if err == nil || errors.Is(err, io.EOF) {
		err = parserOf(name, start)(from, row)
	}
	if err != nil {
		_, _ = io.Copy(io.Discard, from.content) // its error is kept
	}
	if from.content.err != nil {
		return &ReadError{from.content.err}
	}
	return err
}

// parserOf chooses by the extension, then by the first bytes.
func parserOf(name string, start []byte) parser {
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".jsonl", ".ndjson":
		return parseJSON
	case ".tsv", ".tab":
		return parseCSV('\t')
	case ".csv":
		return parseCSV(separator(start, ',', ';', '\t'))
	}
	first := bytes.TrimLeft(bytes.TrimPrefix(start, mark), " \t\r\n")
	if bytes.HasPrefix(first, []byte("{")) || bytes.HasPrefix(first, []byte("[")) {
		return parseJSON
	}
	return parseCSV(separator(start, '\t', ',', ';'))
}

// mark is the byte order mark of UTF-8, which some programs write.
var mark = []byte("\ufeff")

// separator is the first of known that the first line has.
func separator(start []byte, known ...rune) rune {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	for _, s := range known {
		if bytes.ContainsRune(line, s) {
			return s
		}
	}
	return known[0]
}

// bounded reads an output, at most about maxRecord bytes in each record.
type bounded struct {
	*bufio.Reader
	content *remembering
	limit   *limit
}

func newBounded(content io.Reader) *bounded {
	b := &bounded{content: &remembering{from: content}}
	b.limit = &limit{from: b.content}
	b.Reader = bufio.NewReaderSize(b.limit, readAhead)
	b.begin()
	return b
}

// begin begins a record.
func (b *bounded) begin() { b.limit.left = maxRecord + readAhead }

// skipMark skips a byte order mark.
func (b *bounded) skipMark() error {
	start, err := b.Peek(len(mark))
	if bytes.Equal(start, mark) {
		_, err = b.Discard(len(mark))
	}
	if errors.Is(err, io.EOF) {
		return nil // the next read says so
	}
	return err
}

// errRecord is why a record is refused.
var errRecord = fmt.Errorf("a record has more than %s", format.Size(maxRecord))

// limit fails when a record is too large.
type limit struct {
	from io.Reader
	left int
}

func (l *limit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errRecord
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// remembering remembers an error of its reader.
type remembering struct {
	from io.Reader
	err  error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// checkText refuses text that no cell or name can have.
func checkText(what, text string, most int) error {
	switch {
	case len(text) > most:
		return fmt.Errorf("%s has more than %s", what, format.Size(int64(most)))
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not UTF-8", what)
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("%s has a NUL byte", what)
	}
	return nil
}

// checkNames refuses too many names of columns, and the second of two equal ones.
func checkNames(names []string) error {
	if len(names) > MaxColumns {
		return fmt.Errorf("it has more than %d columns", MaxColumns)
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if err := checkText("the name of a column", name, maxName); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("two of its columns are named %q", format.Cut(name, 40))
		}
		seen[name] = true
	}
	return nil
}
