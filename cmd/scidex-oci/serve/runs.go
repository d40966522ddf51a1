package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// runParams are the parameters of run and submit besides the fields of a manifest.
type runParams struct {
	Detached bool `json:"detached"` // it goes on without its caller
	Events   bool `json:"events"`   // its events come as notifications
}

// submitted is the answer to submit.
type submitted struct {
	ID string `json:"id"`
}

// run runs an analysis and answers with its result.
func (p *peer) run(ctx context.Context, r rpc.Request) (any, error) {
	a, params, err := p.analysis(r)
	if err != nil {
		return nil, err
	}
	j, err := p.queue(a, params)
	if err != nil {
		return nil, err
	}
	r.Taken()
	select {
	case <-j.Done():
	case <-ctx.Done():
		if params.Detached && errors.Is(context.Cause(ctx), rpc.ErrGone) {
			return nil, context.Cause(ctx)
		}
		if errors.Is(context.Cause(ctx), rpc.ErrCanceled) {
			j.Cancel()
		}
		<-j.Done() // its caller's end stops it
	}
	return j.Result()
}

// submit queues an analysis and answers with its id.
func (p *peer) submit(_ context.Context, r rpc.Request) (any, error) {
	a, params, err := p.analysis(r)
	if err == nil {
		err = invalid(p.Engine.Check(a))
	}
	if err != nil {
		return nil, err
	}
	j, err := p.queue(a, params)
	if err != nil {
		return nil, err
	}
	return submitted{j.ID()}, nil
}

// analysis reads what is to be run. It gets an id if it has none.
func (p *peer) analysis(r rpc.Request) (spec.Analysis, runParams, error) {
	var params runParams
	own, fields, err := split(r.Params, "detached", "events")
	if err != nil {
		return spec.Analysis{}, params, invalid(err)
	}
	if bad := (rpc.Request{Params: own}).Read(&params); bad != nil {
		return spec.Analysis{}, params, bad
	}
	a, err := p.Lines.Parse(fields)
	if err == nil && a.ID == "" {
		a.ID, err = runflags.NewID()
	}
	return a, params, invalid(err)
}

// invalid is the error of wrong parameters.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return rpc.Errorf(rpc.CodeInvalidParams, "params: %v", err)
}

// split takes fields out of an object. Each object keeps its order, and what it has twice.
func split(object []byte, names ...string) (taken, rest []byte, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, nil, err
	}
	var parts [2][][]byte
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, err
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, nil, err
		}
		to := &parts[1]
		for _, one := range names {
			if key == one {
				to = &parts[0]
			}
		}
		*to = append(*to, fmt.Appendf(nil, "%s: %s", name, value))
	}
	return braced(parts[0]), braced(parts[1]), nil
}

func braced(fields [][]byte) []byte {
	return fmt.Appendf(nil, "{%s}", bytes.Join(fields, []byte(", ")))
}

// queue hands an analysis to the engine.
func (p *peer) queue(a spec.Analysis, params runParams) (*engine.Job, error) {
	var events dispatch.Events
	if params.Events {
		events = &sink{out: p.conn.Out}
	}
	j, err := p.caller.Submit(a, events, params.Detached)
	switch {
	case errors.Is(err, engine.ErrDraining):
		return nil, rpc.Errorf(rpc.CodeDraining, "%v", err)
	case errors.Is(err, engine.ErrGone):
		return nil, rpc.ErrGone
	case errors.Is(err, engine.ErrTooMany):
		return nil, rpc.Errorf(rpc.CodeBusy, "%v", err)
	case errors.Is(err, engine.ErrInUse):
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params: id %q: %v; choose another id", a.ID, err)
	}
	return j, err
}

// coded is the error of an answer.
func coded(err error) error {
	var missing *engine.NotFoundError
	var refused *engine.RefusedError
	switch {
	case errors.As(err, &refused):
		return noRun(refused.Outcome)
	case errors.As(err, &missing):
		return rpc.Errorf(rpc.CodeNotFound, "%v", err)
	}
	return err
}

// refusal is the data of an error about an analysis that became no run.
type refusal struct {
	Result any `json:"result"` // as run --json prints it
}

// noRun is why an analysis became no run.
func noRun(o dispatch.LineResult) *rpc.Error {
	err := rpc.Errorf(rpc.CodeFailed, "%s", o.Result.Message)
	err.Data = refusal{o.Result}
	var refused *request.Error
	var stopped *request.StoppedError
	switch {
	case errors.As(o.Err, &stopped):
		err.Code = rpc.CodeCanceled
	case errors.As(o.Err, &refused):
		err.Code = rpc.CodeInvalidParams
	}
	return err
}
