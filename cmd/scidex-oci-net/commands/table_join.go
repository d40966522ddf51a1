package commands

import (
	"context"
	"errors"
	"slices"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/table"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// tableJoin is one table.
type tableJoin struct {
	stores  *stores.Stores
	path    string
	found   int           // runs
	runs    *tableRunList // those that have the output
	columns table.Survey
	skipped tableSkipped
}

// tableSource is a run and its output.
type tableSource struct {
	Run    table.Run
	SHA256 string
}

// find lists the runs and their outputs, the oldest first.
func (j *tableJoin) find(ctx context.Context, filter catalog.Filter) (err error) {
	if j.runs, err = newTableRunList(); err != nil {
		return err
	}
	var failed error
	err = watch.Each(ctx, j.stores.Host, filter, func(run catalog.Run) bool {
		j.found++
		failed = j.add(ctx, run)
		return failed == nil
	})
	slices.Reverse(j.runs.at) // they came newest first
	return errors.Join(err, failed)
}

// add finds the output of a run.
func (j *tableJoin) add(ctx context.Context, run catalog.Run) error {
	entry, err := j.stores.Catalog.Output(ctx, run.Key, []byte(j.path))
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		j.skipped.missing.add(run.Key, nil)
		return nil
	case err != nil:
		return err
	case !run.OutputsRemovedAt.IsZero():
		j.skipped.removed.add(run.Key, nil)
		return nil
	}
	if entry.Partial {
		j.skipped.partial.add(run.Key, nil)
	}
	return j.runs.add(tableSource{table.Run{ID: run.ID, Attempt: run.Attempt, State: string(run.State), Labels: run.Labels}, entry.SHA256})
}

// survey reads all outputs, and keeps the runs whose output can be read.
func (j *tableJoin) survey(ctx context.Context) error {
	var good []int64
	err := j.runs.each(func(at int64, s tableSource) error {
		err := j.read(ctx, s)
		var damaged *table.ReadError
		key := catalog.Key{ID: s.Run.ID, Attempt: s.Run.Attempt}
		switch {
		case err == nil:
			good = append(good, at)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &damaged):
			j.skipped.damaged.add(key, err)
		default:
			j.skipped.unreadable.add(key, err)
		}
		return nil
	})
	j.runs.at = good
	return err
}

// read surveys an output.
func (j *tableJoin) read(ctx context.Context, s tableSource) error {
	content, err := j.open(ctx, s)
	if err != nil {
		return err
	}
	_, err = j.columns.Add(s.Run, j.path, content)
	return errors.Join(err, content.Close())
}

// rows writes the rows of all outputs.
func (j *tableJoin) rows(ctx context.Context, layout table.Layout, to table.Writer) error {
	return j.runs.each(func(_ int64, s tableSource) error {
		content, err := j.open(ctx, s)
		if err != nil {
			return err
		}
		return errors.Join(layout.Write(to, s.Run, j.path, content), content.Close())
	})
}
