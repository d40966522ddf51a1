package commands

import (
	"context"
	"errors"
	"io"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/ui"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// uiRuns, uiFiles and uiLife are the stores for the web application.
type (
	uiRuns  struct{ *stores.Stores }
	uiFiles struct {
		catalog.Catalog
		*blob.Store
	}
	uiLife struct{ *stores.Stores }
)

func (u uiRuns) List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	return watch.List(ctx, u.Host, filter)
}

func (u uiRuns) Find(ctx context.Context, name string) (catalog.Run, error) {
	return u.Catalog.Find(ctx, name)
}

func (u uiRuns) Result(ctx context.Context, run catalog.Run) (result.Result, error) {
	return watch.Show(ctx, u.Host, run)
}

// Look is life with the control group's counters.
func (u uiLife) Look(ctx context.Context, run catalog.Run) ui.Active {
	state, _ := u.Liveness(ctx, run)
	going := ui.Active{State: state, ElapsedMS: workspace.Age(run).Milliseconds()}
	live, err := watch.Attach(u.Host, run)
	if err != nil {
		return going // life reported why
	}
	defer live.Close()
	going.Here = true
	if use, err := live.Usage(); err == nil {
		going.Use = &ui.Use{CPUMS: use.CPU.Milliseconds(), MemoryBytes: use.Memory, Processes: use.Pids}
	}
	return going
}

func (u uiLife) Logs(ctx context.Context, run catalog.Run, stdout, stderr io.Writer) error {
	_, err := watch.CopyLogs(ctx, u.Host, run, watch.Streams{stdout, stderr}, false)
	if errors.Is(err, watch.ErrDead) {
		return nil // what it left was copied
	}
	return err
}

// Stop keeps the run attached while it waits: that identifies the sender.
func (u uiLife) Stop(ctx context.Context, run catalog.Run) error {
	live, err := watch.Stop(ctx, u.Host, run, false)
	if err != nil {
		return err
	}
	defer live.Close()
	_, err = watch.Await(ctx, u.Host, run.Key)
	return err
}
