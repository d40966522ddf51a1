package riverqueue

import (
	"context"
	"slices"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

// driver is River's driver without a way to end the process. When the end of a job is written while another transaction moves
// it, the statement changes nothing and returns the row as its snapshot has it, which is running. River takes that for a bug
// of its own and panics (jobcompleter, v0.47.0), and all runs of the worker would die.
type driver struct{ *riverpgxv5.Driver }

func (d driver) GetExecutor() riverdriver.Executor { return executor{d.Driver.GetExecutor()} }

type executor struct{ riverdriver.Executor }

// JobSetStateIfRunningMany leaves out jobs that it has not ended, as River's own leaves out those that were deleted.
func (e executor) JobSetStateIfRunningMany(ctx context.Context, params *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	rows, err := e.Executor.JobSetStateIfRunningMany(ctx, params)
	return slices.DeleteFunc(rows, moved), err
}

// moved reports whether a job went to another owner while its end was written.
func moved(job *rivertype.JobRow) bool {
	return job.State == rivertype.JobStateRunning || job.State == rivertype.JobStatePending
}
