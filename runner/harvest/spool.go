package harvest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// spoolMemory is how much of a spool is held in memory, in bytes: most runs have few entries.
const spoolMemory = 256 << 10

// Spool keeps the entries of a harvest, in order of arrival, until the commit reads them. Beyond spoolMemory they are in a
// file, so that memory does not depend on their number.
type Spool struct {
	create func() (*os.File, error) // makes that file
	memory []byte                   // what is not in the file yet
	file   *os.File                 // nil while everything is in memory
}

func (s *Spool) add(e outputs.Entry) error {
	s.memory = appendEntry(s.memory, e)
	if len(s.memory) < spoolMemory {
		return nil
	}
	return s.spill()
}

// spill writes what is in memory to the file.
func (s *Spool) spill() (err error) {
	if s.file == nil {
		if s.file, err = s.create(); err != nil {
			return fmt.Errorf("keep the verdicts: %w", err)
		}
	}
	if _, err := s.file.Write(s.memory); err != nil {
		return fmt.Errorf("keep the verdicts: %w", err)
	}
	s.memory = s.memory[:0]
	return nil
}

// end comes after the last entry.
func (s *Spool) end() error {
	if s.file == nil {
		return nil
	}
	return s.spill()
}

// Read returns an iterator over the entries up to io.EOF, each time a new one. It comes after end.
func (s *Spool) Read() (next func() (outputs.Entry, error), err error) {
	from := bufio.NewReader(bytes.NewReader(s.memory))
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read the verdicts: %w", err)
		}
		from = bufio.NewReaderSize(s.file, 64<<10)
	}
	return func() (entry outputs.Entry, err error) {
		entry, err = readEntry(from)
		if err == nil || err == io.EOF { //nolint:errorlint // the catalog asks for the very value
			return entry, err
		}
		return entry, fmt.Errorf("read the verdicts: %w", err)
	}, nil
}

// forget empties the spool. Its file is no longer used.
func (s *Spool) forget() {
	_ = s.Close()
	*s = Spool{create: s.create}
}

// Close closes the file of the spool; it is idempotent.
func (s *Spool) Close() error {
	if err := workspace.CloseFile(s.file); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the verdicts: %w", err)
	}
	return nil
}
