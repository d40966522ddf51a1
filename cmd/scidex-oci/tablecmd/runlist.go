package tablecmd

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

// runList is a list of any number of runs: they are in an unnamed file, and only their places in memory.
type runList struct {
	file *os.File
	to   *bufio.Writer
	end  int64
	at   []int64 // where each begins, in the order of each
}

func newRunList() (*runList, error) {
	dir, err := userdir.Open(os.TempDir())
	if err != nil {
		return nil, err
	}
	f, err := dir.Scratch()
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	return &runList{file: f, to: bufio.NewWriter(f)}, nil
}

func (l *runList) add(s source) error {
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
func (l *runList) each(do func(at int64, s source) error) error {
	if err := l.to.Flush(); err != nil {
		return err
	}
	for _, at := range l.at {
		var s source
		if err := json.NewDecoder(io.NewSectionReader(l.file, at, math.MaxInt64-at)).Decode(&s); err != nil {
			return fmt.Errorf("list of runs: %w", err)
		}
		if err := do(at, s); err != nil {
			return err
		}
	}
	return nil
}

func (l *runList) close() { _ = l.file.Close() } // it has no name
