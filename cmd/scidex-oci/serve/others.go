package serve

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// nameParams name a run as a person does: ID, ID@ATTEMPT or @last.
type nameParams struct {
	ID string `json:"id"`
}

// stopParams are the parameters of stop.
type stopParams struct {
	ID  string `json:"id"`
	Now bool   `json:"now"` // without a grace period
}

// wait answers with the result of a run when it has ended.
func (p *peer) wait(ctx context.Context, r rpc.Request) (any, error) {
	var params nameParams
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	return p.Engine.Wait(ctx, params.ID)
}

// stop ends a run and answers with its result.
func (p *peer) stop(ctx context.Context, r rpc.Request) (any, error) {
	var params stopParams
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	return p.Engine.Stop(ctx, params.ID, params.Now)
}

// show answers with the result of a run as it is now.
func (p *peer) show(ctx context.Context, r rpc.Request) (any, error) {
	var params nameParams
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	return p.Engine.Show(ctx, params.ID)
}

// readNamed reads parameters with an id.
func readNamed(r rpc.Request, to any, id *string) error {
	if bad := r.Read(to); bad != nil {
		return bad
	}
	if *id == "" {
		return rpc.Errorf(rpc.CodeInvalidParams, "params: id is missing; give that of a run")
	}
	return nil
}
