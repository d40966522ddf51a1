package commands

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// tableRunList is a list of any number of runs: they are in an unnamed file, and only their places in memory.
type tableRunList struct {
	file *os.File
	to   *bufio.Writer
	end  int64
	at   []int64 // where each begins, in the order of each
}

func newTableRunList() (*tableRunList, error) {
	dir, err := userdir.Open(os.TempDir())
	if err != nil {
		return nil, err
	}
	f, err := dir.Scratch()
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	return &tableRunList{file: f, to: bufio.NewWriter(f)}, nil
}

func (l *tableRunList) add(s tableSource) error {
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	l.at = append(l.at, l.end)
	l.end += int64(len(line))
	_, err = l.to.Write(line)
	return err
}

// each calls do for each run until it returns an error.
func (l *tableRunList) each(do func(at int64, s tableSource) error) error {
	if err := l.to.Flush(); err != nil {
		return err
	}
	for _, at := range l.at {
		var s tableSource
		if err := json.NewDecoder(io.NewSectionReader(l.file, at, math.MaxInt64-at)).Decode(&s); err != nil {
			return fmt.Errorf("list of runs: %w", err)
		}
		if err := do(at, s); err != nil {
			return err
		}
	}
	return nil
}

func (l *tableRunList) close() { _ = l.file.Close() } // it has no name
