package servecmd

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
	"github.com/scidex-ai/scidex-oci/runner/watch"
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
	if j, ok := p.engine.Find(params.ID); ok {
		return await(ctx, j)
	}
	if o, ok := p.engine.Refused(params.ID); ok {
		return answer(o)
	}
	run, err := p.stores.Find(ctx, params.ID)
	if err != nil {
		return nil, p.failed(ctx, params.ID, err)
	}
	return p.awaitOther(ctx, run.Key)
}

// await waits for a run of this engine.
func await(ctx context.Context, j *engine.Job) (any, error) {
	select {
	case <-j.Done():
		return answer(j.Outcome())
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// awaitOther waits for a run of another process.
func (p *peer) awaitOther(ctx context.Context, key catalog.Key) (any, error) {
	run, err := p.stores.Await(ctx, key)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	return p.result(ctx, run)
}

// stop ends a run and answers with its result.
func (p *peer) stop(ctx context.Context, r rpc.Request) (any, error) {
	var params stopParams
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	if j, ok := p.engine.Find(params.ID); ok {
		j.Stop(params.Now)
		return await(ctx, j)
	}
	run, err := p.stores.FindWhole(ctx, params.ID)
	if err != nil {
		return nil, p.failed(ctx, params.ID, err)
	}
	live, err := p.stores.Stop(ctx, run, params.Now)
	if err != nil {
		return nil, err
	}
	defer live.Close() // its lock identifies us until then
	return p.awaitOther(ctx, run.Key)
}

// show answers with the result of a run as it is now.
func (p *peer) show(ctx context.Context, r rpc.Request) (any, error) {
	var params nameParams
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	if j, ok := p.engine.Find(params.ID); ok && j.Queued() {
		return j.Pending(), nil
	}
	run, err := p.stores.Find(ctx, params.ID)
	if o, ok := p.engine.Refused(params.ID); ok && err != nil {
		return answer(o)
	}
	if err != nil {
		return nil, p.failed(ctx, params.ID, err)
	}
	return p.result(ctx, run)
}

// result is that of a run in the catalog.
func (p *peer) result(ctx context.Context, run catalog.Run) (any, error) {
	defer p.reading()()
	result, err := watch.Show(ctx, p.stores.Host, run)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// reading waits for a place among those that read the catalog.
func (p *peer) reading() (done func()) {
	p.reads <- struct{}{}
	return func() { <-p.reads }
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

// failed says that there is no such run, where that is why a name was refused.
func (p *peer) failed(ctx context.Context, name string, why error) error {
	_, err := p.stores.Catalog.Find(ctx, name)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrAmbiguous) {
		return rpc.Errorf(rpc.CodeNotFound, "%v", why)
	}
	return why
}
