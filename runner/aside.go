package runner

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/execute"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
)

// aside runs an analysis of ours that is not recorded: it has no row and keeps nothing. prepare may change the run before its
// execution, and refuse it. The error says why it could not be run to its end.
func aside(ctx context.Context, host *phase.Host, req request.Request, launched *standby.Standby, prepare func(*run) error) (phase.Ended, error) {
	r, err := beginIn(ctx, host, unrecorded{host.Catalog}, req, launched)
	if err != nil {
		launched.Drop()
		return phase.Ended{}, err
	}
	defer launched.Cool()
	defer r.closeInputs()
	if err := prepare(r); err != nil {
		return phase.Ended{}, errors.Join(err, r.space.State.Remove())
	}
	ended, _ := execute.Run(ctx, r.task)
	end := r.end(ended)
	r.clean(ctx, end, commit.Final{})
	if ended.Failure != nil {
		return ended, ended.Failure.Err
	}
	return ended, nil
}

// unrecorded is the ledger of a run without a row. What a killed one leaves is found by its state file.
type unrecorded struct{ phase.Ledger }

func (unrecorded) Create(context.Context, catalog.Run) error { return nil }

func (unrecorded) Update(context.Context, catalog.Run) error { return nil }
