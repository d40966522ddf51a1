package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
)

// Submission is what was submitted: spool.json. It is written once, before Slurm is called.
type Submission struct {
	V           int       `json:"v"`          // 1
	Name        string    `json:"name"`       // the names of the jobs start with it
	CatalogID   string    `json:"catalog_id"` // where the results belong
	SubmittedAt time.Time `json:"submitted_at"`
	UID         int       `json:"uid"` // whose jobs they are
	NoAudit     bool      `json:"no_audit,omitempty"`
	Arrays      []Array   `json:"arrays"`
}

// Line is one analysis of it: lines/N.json.
type Line struct {
	Number    int               `json:"line"` // in the file, from 1
	ID        string            `json:"id"`
	Attempt   int               `json:"attempt"`
	CreatedAt time.Time         `json:"created_at"`
	Labels    map[string]string `json:"labels,omitempty"`
	Request   json.RawMessage   `json:"request"` // the spec.Analysis as requested, all paths absolute
}

// Key is that of the run in the catalog.
func (l Line) Key() catalog.Key { return catalog.Key{ID: l.ID, Attempt: l.Attempt} }

// Began is what a task writes when it starts its line: began/N.json.
type Began struct {
	Host   string    `json:"host"`
	BootID string    `json:"boot_id"`
	At     time.Time `json:"at"`
}

// Spool is the directory of a submission.
type Spool struct {
	spool.Spool
	Dir        string
	Submission Submission
}

const (
	headFile      = "spool.json"
	submittedFile = "submitted"
	canceledFile  = "canceled"
	linesDir      = "lines"
	beganDir      = "began"
	logsDir       = "logs"
	jobsDir       = "jobs"
)

// Create makes the spool of a submission, in a new directory.
func Create(dir string, s Submission, lines []Line) (_ Spool, err error) {
	if len(lines) == 0 {
		return Spool{}, errNoArrays
	}
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
	for _, name := range []string{linesDir, beganDir, logsDir, jobsDir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return Spool{}, err
		}
	}
	for _, line := range lines {
		if err := writeFile(filepath.Join(dir, linesDir, strconv.Itoa(line.Number)+".json"), line); err != nil {
			return Spool{}, err
		}
	}
	results, err := spool.Make(dir)
	if err != nil {
		return Spool{}, err
	}
	s.V = 1
	if err := writeFile(filepath.Join(dir, headFile), s); err != nil {
		return Spool{}, err
	}
	return Spool{results, dir, s}, atomicfile.SyncDir(filepath.Dir(dir))
}

// checkTrusted refuses root a spool that another user could exchange: it is read, written and removed by paths, on many nodes.
func checkTrusted(dir string) error {
	if err := userdir.CheckTrusted(dir); err != nil {
		return fmt.Errorf("spool %q: %w, or run this as that user", dir, err)
	}
	return nil
}

// Open opens the spool of a submission.
func Open(dir string) (Spool, error) {
	var s Submission
	if err := checkTrusted(dir); err != nil {
		return Spool{}, err
	}
	err := readFile(filepath.Join(dir, headFile), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return Spool{}, fmt.Errorf("%q is no spool of \"scidex-oci slurm submit\": it has no %s; name the directory of --spool", dir, headFile)
	}
	if err == nil && s.V != 1 {
		err = fmt.Errorf("spool %q was made by a newer scidex-oci (version %d of its form, not 1)", dir, s.V)
	}
	return Spool{spool.At(dir), dir, s}, err
}

// Line reads the n-th line.
func (s Spool) Line(n int) (Line, error) { return ReadLine(s.LinePath(n)) }

// LinePath is the n-th line's path.
func (s Spool) LinePath(n int) string { return filepath.Join(s.Dir, linesDir, strconv.Itoa(n)+".json") }

// ReadLine reads the line at a LinePath.
func ReadLine(path string) (line Line, err error) {
	err = readFile(path, &line)
	return line, err
}

// Around is the spool of results of the spool with the line at a LinePath.
func Around(path string) spool.Spool { return spool.At(filepath.Dir(filepath.Dir(path))) }

// LineOf is the line of a task.
func (s Spool) LineOf(array, task int) (Line, error) {
	if array < 0 || array >= len(s.Submission.Arrays) || task < 0 || task >= len(s.Submission.Arrays[array].Lines) {
		return Line{}, fmt.Errorf("spool %q has no task %d of array %d", s.Dir, task, array)
	}
	return s.Line(s.Submission.Arrays[array].Lines[task])
}

// Begin notes that a task has started its line.
func (s Spool) Begin(n int, b Began) error {
	return writeFile(filepath.Join(s.Dir, beganDir, strconv.Itoa(n)+".json"), b)
}

// Began returns what a task has noted, nil for none.
func (s Spool) Began(n int) (*Began, error) {
	var b Began
	err := readFile(filepath.Join(s.Dir, beganDir, strconv.Itoa(n)+".json"), &b)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // none
	}
	return &b, err
}

// ScriptPath is the path of an array's script.
func (s Spool) ScriptPath(k int) string { return filepath.Join(s.Dir, fmt.Sprintf("array-%d.sh", k)) }

// LogPath returns the path of a task's log; the analysis' output is in the logs of the run.
func (s Spool) LogPath(array, task int) string {
	return filepath.Join(s.Dir, logsDir, fmt.Sprintf("%d_%d.out", array, task))
}

// SetJob notes the number of an array's job.
func (s Spool) SetJob(k int, id string) error {
	return writeFile(filepath.Join(s.Dir, jobsDir, strconv.Itoa(k)), id)
}

// Job is that number, "" where unknown.
func (s Spool) Job(k int) (id string, err error) {
	err = readFile(filepath.Join(s.Dir, jobsDir, strconv.Itoa(k)), &id)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return id, err
}

// SetSubmitted notes that Slurm has all arrays.
func (s Spool) SetSubmitted() error {
	return writeFile(filepath.Join(s.Dir, submittedFile), time.Now().UTC())
}

// Submitted reports that.
func (s Spool) Submitted() (bool, error) { return exists(filepath.Join(s.Dir, submittedFile)) }

// SetCanceled notes that no more of it is to start.
func (s Spool) SetCanceled() error {
	return writeFile(filepath.Join(s.Dir, canceledFile), time.Now().UTC())
}

// Canceled reports that.
func (s Spool) Canceled() (bool, error) { return exists(filepath.Join(s.Dir, canceledFile)) }

// arrayOf is the number at the end of the name of a job of this submission.
func (s Submission) arrayOf(name string) (k int, ok bool) {
	number, own := strings.CutPrefix(name, s.Name+"-")
	k, err := strconv.Atoi(number)
	return k, own && err == nil && k >= 0 && k < len(s.Arrays)
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func readFile(path string, v any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return err
}

// writeFile writes a file atomically and durably.
func writeFile(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, path+record.Unfinished, atomicfile.Durable, func(f *os.File) error {
		_, err := f.Write(append(data, '\n'))
		return err
	})
}
