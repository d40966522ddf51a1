package slurm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
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

// Spool is the directory of a submission.
type Spool struct {
	spooled.Spool
	Submission Submission
}

const (
	headFile      = "spool.json"
	submittedFile = "submitted"
	logsDir       = "logs"
	jobsDir       = "jobs"
)

// Create makes the spool of a submission, in a new directory.
func Create(dir string, s Submission, lines []spooled.Line) (_ Spool, err error) {
	if len(lines) == 0 {
		return Spool{}, errNoArrays
	}
	made, err := spooled.Create(dir, lines)
	if err != nil {
		return Spool{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	for _, name := range []string{logsDir, jobsDir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return Spool{}, err
		}
	}
	s.V = 1
	return Spool{made, s}, made.WriteJSON(headFile, s) // last: what has it is whole
}

// Open opens the spool of a submission.
func Open(dir string) (Spool, error) {
	var s Submission
	made, err := spooled.Open(dir)
	if err != nil {
		return Spool{}, err
	}
	err = made.ReadJSON(headFile, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return Spool{}, fmt.Errorf("%q is no spool of \"scidex-oci slurm submit\": it has no %s; name the directory of --spool", dir, headFile)
	}
	if err == nil && s.V != 1 {
		err = fmt.Errorf("spool %q was made by a newer scidex-oci (version %d of its form, not 1)", dir, s.V)
	}
	return Spool{made, s}, err
}

// Task is a task of an array, with its root in the directory tmp.
func (s Spool) Task(array, task int, tmp string) (*spooled.Task, error) {
	if array < 0 || array >= len(s.Submission.Arrays) || task < 0 || task >= len(s.Submission.Arrays[array].Lines) {
		return nil, fmt.Errorf("spool %q has no task %d of array %d", s.Dir, task, array)
	}
	line, err := s.Line(s.Submission.Arrays[array].Lines[task])
	prefix := fmt.Sprintf("scidex-oci-slurm-%d-", os.Geteuid())
	root := filepath.Join(tmp, fmt.Sprintf("%s%s-%d-%d", prefix, s.Submission.Name, array, task))
	return &spooled.Task{Spool: s.Spool, Line: line, NoAudit: s.Submission.NoAudit, Root: root, Prefix: prefix}, err
}

// ScriptPath is the path of an array's script.
func (s Spool) ScriptPath(k int) string { return filepath.Join(s.Dir, fmt.Sprintf("array-%d.sh", k)) }

// LogPath returns the path of a task's log; the analysis' output is in the logs of the run.
func (s Spool) LogPath(id TaskID) string {
	return filepath.Join(s.Dir, logsDir, fmt.Sprintf("%d_%d.out", id.Array, id.Task))
}

// SetJob notes the number of an array's job.
func (s Spool) SetJob(k int, id string) error {
	return s.WriteJSON(filepath.Join(jobsDir, strconv.Itoa(k)), id)
}

// Job is that number, "" if it is unknown.
func (s Spool) Job(k int) (id string, err error) {
	err = s.ReadJSON(filepath.Join(jobsDir, strconv.Itoa(k)), &id)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return id, err
}

// SetSubmitted notes that Slurm has all arrays.
func (s Spool) SetSubmitted() error { return s.WriteJSON(submittedFile, time.Now().UTC()) }

// Submitted reports that.
func (s Spool) Submitted() (bool, error) { return s.Exists(submittedFile) }

// arrayOf is the number at the end of the name of a job of this submission.
func (s Submission) arrayOf(name string) (k int, ok bool) {
	number, own := strings.CutPrefix(name, s.Name+"-")
	k, err := strconv.Atoi(number)
	return k, own && err == nil && k >= 0 && k < len(s.Arrays)
}
