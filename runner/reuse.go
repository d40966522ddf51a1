package runner

import (
	"context"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/inputs/stdin"
	"github.com/scidex-ai/scidex-oci/runner/replay"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// reusing answers a request that allows it with the result of an earlier run of the same action.
type reusing struct{ phases }

// Run runs the phases if there is no such run.
func (r reusing) Run(ctx context.Context, req request.Request) (result.Result, error) {
	if !req.Reuse {
		return r.phases.Run(ctx, req)
	}
	launched, err := r.start(ctx, req.Analysis.Limits)
	if err != nil {
		return r.refuse(req, err)
	}
	req, read, err := r.readStdin(ctx, req)
	if err != nil {
		launched.Drop()
		return r.refuse(req, err)
	}
	defer read.Close() //nolint:errcheck // it was only read
	res, found, why, err := replay.Reuse(ctx, r.host, req, launched)
	switch {
	case err != nil:
		launched.Drop()
		return r.refuse(req, err)
	case found:
		launched.Drop()
		return res, nil
	case why != "":
		req.Warnings = append(req.Warnings, "no earlier run was looked for: "+why)
	}
	r.start, _ = launched.Given()
	return r.phases.Run(ctx, req)
}

// readStdin reads a standard input to its end, since that of an earlier run has to be the same. The caller closes what it returns.
func (r reusing) readStdin(ctx context.Context, req request.Request) (request.Request, io.Closer, error) {
	if _, isKnown := req.Stdin.(*stdin.Known); isKnown || req.Stdin == nil {
		return req, io.NopCloser(nil), nil
	}
	waiting, release := request.UntilStop(ctx, req.Stop, 0)
	known, err := stdin.Read(waiting, req.Stdin, r.host.Root)
	release() //nolint:errcheck // Read returns it
	if err != nil {
		return req, nil, request.Refusal(err)
	}
	if req.Stdin = nil; known == nil {
		return req, io.NopCloser(nil), nil // it is empty
	}
	req.Stdin = known
	return req, known, nil
}
