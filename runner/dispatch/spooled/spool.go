package spooled

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Began is what a task writes when it starts its line: began/N.json.
type Began struct {
	Host   string    `json:"host"`
	BootID string    `json:"boot_id"`
	At     time.Time `json:"at"`
}

// Spool has lines and their results.
type Spool struct{ spool.Spool }

const (
	canceledFile = "canceled"
	linesDir     = "lines"
	beganDir     = "began"
)

// Create makes a spool of lines in a new directory, of which nothing is left on failure.
func Create(dir string, lines []Line) (_ Spool, err error) {
	if err := checkTrusted(dir); err != nil {
		return Spool{}, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("spool %q exists already; name a new directory for each submission", dir)
		}
		return Spool{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	s := Spool{spool.At(dir)}
	for _, name := range []string{linesDir, beganDir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return Spool{}, err
		}
	}
	for _, line := range lines {
		if err := s.WriteJSON(numbered(linesDir, line.Number), line); err != nil {
			return Spool{}, err
		}
	}
	if _, err := spool.Make(dir); err != nil {
		return Spool{}, err
	}
	return s, atomicfile.SyncDir(filepath.Dir(dir))
}

// Open opens a spool that Create made.
func Open(dir string) (Spool, error) { return Spool{spool.At(dir)}, checkTrusted(dir) }

// checkTrusted refuses root a spool that another user could exchange: it is read, written and removed by paths, on many nodes.
func checkTrusted(dir string) error {
	if err := userdir.CheckTrusted(dir); err != nil {
		return fmt.Errorf("spool %q: %w, or run this as that user", dir, err)
	}
	return nil
}

// numbered is the name of the n-th line's file in a directory of the spool.
func numbered(dir string, n int) string { return filepath.Join(dir, strconv.Itoa(n)+".json") }

// Line reads the n-th line.
func (s Spool) Line(n int) (line Line, err error) {
	err = s.ReadJSON(numbered(linesDir, n), &line)
	return line, err
}

// linePath is the n-th line's path.
func (s Spool) linePath(n int) string { return filepath.Join(s.Dir, numbered(linesDir, n)) }

// around is the spool that has the line at a linePath, and that line.
func around(path string) (s Spool, line Line, err error) {
	s = Spool{spool.At(filepath.Dir(filepath.Dir(path)))}
	err = s.ReadJSON(filepath.Join(linesDir, filepath.Base(path)), &line)
	return s, line, err
}

// begin notes that a task has started its line.
func (s Spool) begin(n int, b Began) error { return s.WriteJSON(numbered(beganDir, n), b) }

// Began returns what a task has noted, nil for none.
func (s Spool) Began(n int) (*Began, error) {
	var b Began
	err := s.ReadJSON(numbered(beganDir, n), &b)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // none
	}
	return &b, err
}

// SetCanceled notes that no more of it is to start.
func (s Spool) SetCanceled() error { return s.WriteJSON(canceledFile, time.Now().UTC()) }

// Canceled reports that.
func (s Spool) Canceled() (bool, error) { return s.Exists(canceledFile) }

// Conclude writes a result without outputs, as Deliver does. No launcher has a record of such a run, by which gc recognizes
// runs of other roots: the result itself says so, so that gc does not mark the run lost while a collector commits it.
func (s Spool) Conclude(n int, run catalog.Run) (err error) {
	if run.Place, err = json.Marshal(workspace.Location{State: s.Path(n)}); err != nil {
		return err
	}
	return s.Spool.Conclude(n, run)
}
