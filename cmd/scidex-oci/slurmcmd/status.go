package slurmcmd

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

// slurmStatus is what status --json prints.
type slurmStatus struct {
	V           int                `json:"v"` // 1
	Spool       string             `json:"spool"`
	CatalogID   string             `json:"catalog_id"`
	SubmittedAt time.Time          `json:"submitted_at"`
	Canceled    bool               `json:"canceled"`
	Arrays      []slurmArray       `json:"arrays"`
	Lines       []slurmLine        `json:"lines"`
	Totals      map[slurmState]int `json:"totals"`
}

type slurmArray struct {
	Job   string `json:"job"` // "" where the submission was cut short
	Tasks int    `json:"tasks"`
	slurm.Size
}

// slurmState is where a line stands.
type slurmState string

const (
	lineQueued    slurmState = "queued"
	lineRunning   slurmState = "running"
	lineDelivered slurmState = "delivered" // its result waits for collect
	lineCollected slurmState = "collected"
	lineEnded     slurmState = "ended" // without a result, as collect tells
)

type slurmLine struct {
	Line    int        `json:"line"`
	ID      string     `json:"id"`
	Attempt int        `json:"attempt"`
	Task    string     `json:"task"` // "12_3"
	Stands  slurmState `json:"stands"`
	// Slurm is Slurm's own word and Node where the task runs or ran, as long as Slurm knows.
	Slurm string `json:"slurm,omitempty"`
	Node  string `json:"node,omitempty"`
	// State, Reason and Message are those of a result that is there.
	State   catalog.State `json:"state,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	// Late is a second result that came when the line had one, for a person to look at.
	Late string `json:"late,omitempty"`
}

func newStatus(p *command.Program) *cli.Command {
	o := &statusOptions{}
	return &cli.Command{
		Name:      "status",
		Usage:     "show where the lines of a submission stand",
		UsageText: "scidex-oci slurm status [--json] SPOOL",
		ArgsUsage: "SPOOL",
		Description: `Each line is queued, running, delivered (its result waits for collect), collected, or ended: its task is gone and left no
result, and collect tells why. It needs no catalog and changes nothing.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			return withSpool(p, c, func(ctx context.Context, s slurm.Spool) error { return runStatus(ctx, p, s, *o) })
		},
	}
}

// statusOptions are the options of slurm status.
type statusOptions struct {
	json bool
}

func (o *statusOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func runStatus(ctx context.Context, p *command.Program, s slurm.Spool, o statusOptions) error {
	status, err := slurmStatusOf(ctx, s)
	if err != nil {
		return err
	}
	if o.json {
		return screen.WriteJSON(p.Stdout, status)
	}
	tw := tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "LINE\tID\tTASK\tSTANDS\tSLURM\tNODE\tRESULT")
	for _, line := range status.Lines {
		text := string(line.State)
		if line.Reason != "" {
			text += " (" + line.Reason + ")"
		}
		if line.Late != "" {
			text += "; a second result came late: " + line.Late
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", line.Line, screen.Escape(line.ID), line.Task, line.Stands, screen.Escape(line.Slurm), screen.Escape(line.Node), screen.Escape(text))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s\n", status.sum())
	return err
}

// sum is the totals for a person.
func (s slurmStatus) sum() string {
	var parts []string
	for _, state := range []slurmState{lineQueued, lineRunning, lineEnded, lineDelivered, lineCollected} {
		if n := s.Totals[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

// slurmStatusOf asks Slurm first and looks at the results then: one that comes meanwhile is not missed.
func slurmStatusOf(ctx context.Context, s slurm.Spool) (status slurmStatus, err error) {
	status = slurmStatus{V: 1, Spool: s.Dir, CatalogID: s.Submission.CatalogID, SubmittedAt: s.Submission.SubmittedAt, Totals: map[slurmState]int{}}
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
		status.Arrays = append(status.Arrays, slurmArray{job, len(array.Lines), array.Size})
		for task, n := range array.Lines {
			line, err := slurmLineOf(s, n, tasks[slurm.TaskID{Array: k, Task: task}])
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

func slurmLineOf(s slurm.Spool, n int, task slurm.Status) (slurmLine, error) {
	line, err := s.Line(n)
	if err != nil {
		return slurmLine{}, err
	}
	shown := slurmLine{Line: n, ID: line.ID, Attempt: line.Attempt, Slurm: task.State, Node: task.Node}
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
