package slurm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Overview is the state of a submission's lines: what "slurm status --json" prints.
type Overview struct {
	V           int               `json:"v"` // 1
	Spool       string            `json:"spool"`
	CatalogID   string            `json:"catalog_id"`
	SubmittedAt time.Time         `json:"submitted_at"`
	Canceled    bool              `json:"canceled"`
	Arrays      []ArrayOverview   `json:"arrays"`
	Lines       []LineOverview    `json:"lines"`
	Totals      map[LineState]int `json:"totals"`
}

// ArrayOverview is one job array.
type ArrayOverview struct {
	Job   string `json:"job"` // "" if the submission was cut short
	Tasks int    `json:"tasks"`
	Size
}

// LineState is the state of a line.
type LineState string

const (
	lineQueued    LineState = "queued"
	lineRunning   LineState = "running"
	lineDelivered LineState = "delivered" // its result waits for collect
	lineCollected LineState = "collected"
	lineEnded     LineState = "ended" // without a result, as collect finds
)

// LineOverview is the state of one line.
type LineOverview struct {
	Line    int       `json:"line"`
	ID      string    `json:"id"`
	Attempt int       `json:"attempt"`
	Task    string    `json:"task"` // "12_3"
	Stands  LineState `json:"stands"`
	// Slurm is Slurm's state, and Node where the task runs or ran, as long as Slurm knows.
	Slurm string `json:"slurm,omitempty"`
	Node  string `json:"node,omitempty"`
	// State, Reason and Message are those of the result, if any.
	State   outcome.State  `json:"state,omitempty"`
	Reason  outcome.Reason `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	// Late is the path of a second result, which came after the first.
	Late string `json:"late,omitempty"`
}

// ReadOverview reads the state of each line of a spool. It queries Slurm before it reads the results, so that it misses none.
func ReadOverview(ctx context.Context, s Spool) (status Overview, err error) {
	status = Overview{V: 1, Spool: s.Dir, CatalogID: s.Submission.CatalogID, SubmittedAt: s.Submission.SubmittedAt, Totals: map[LineState]int{}}
	if status.Canceled, err = s.Canceled(); err != nil {
		return status, err
	}
	tasks, err := s.Tasks(ctx)
	if err != nil {
		return status, err
	}
	for k, array := range s.Submission.Arrays {
		job, err := s.Job(k)
		if err != nil {
			return status, err
		}
		status.Arrays = append(status.Arrays, ArrayOverview{job, len(array.Lines), array.Size})
		for task, n := range array.Lines {
			line, err := lineOverview(s, n, tasks[TaskID{Array: k, Task: task}])
			if err != nil {
				return status, err
			}
			line.Task = fmt.Sprintf("%s_%d", job, task)
			status.Lines = append(status.Lines, line)
			status.Totals[line.Stands]++
		}
	}
	return status, nil
}

func lineOverview(s Spool, n int, task Status) (LineOverview, error) {
	line, err := s.Line(n)
	if err != nil {
		return LineOverview{}, err
	}
	shown := LineOverview{Line: n, ID: line.ID, Attempt: line.Attempt, Slurm: task.State, Node: task.Node}
	if late, err := s.Late(n); err != nil {
		return shown, err
	} else if late {
		shown.Late = s.LatePath(n)
	}
	has, err := s.Has(n)
	if err != nil {
		return shown, err
	}
	if !has {
		switch {
		case task.Waits():
			shown.Stands = lineQueued
		case task.Ended():
			shown.Stands = lineEnded
		default:
			shown.Stands = lineRunning
		}
		return shown, nil
	}
	shown.Stands = lineDelivered
	if collected, err := s.Collected(n); err != nil {
		return shown, err
	} else if collected {
		shown.Stands = lineCollected
	}
	run, err := s.Peek(n)
	if err != nil {
		shown.Message = fmt.Sprintf("its result cannot be read: %v", err)
		return shown, nil
	}
	shown.State, shown.Reason, shown.Message = run.State, run.Reason, run.Message
	return shown, nil
}

// Totalled is the totals in words.
func (s Overview) Totalled() string {
	var parts []string
	for _, state := range []LineState{lineQueued, lineRunning, lineEnded, lineDelivered, lineCollected} {
		if n := s.Totals[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
