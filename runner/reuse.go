package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// candidates is how many runs of one action are looked at, the newest first: one whose outputs were given up may be
// followed by one whose outputs are there.
const candidates = 10

// reuse looks for a complete run of the same action, whose outputs are there, and returns its result. found is false where
// there is none; why says why none can be, where that is so.
func reuse(ctx context.Context, host *phase.Host, req Request, launched *launching) (_ result.Result, found bool, why string, err error) {
	if err := Bind(ctx, host); err != nil {
		return result.Result{}, false, "", err
	}
	p, err := prepare(ctx, host, req, launched)
	if err != nil {
		return result.Result{}, false, "", refusal(err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	id, why, err := actionNow(ctx, host, p, req)
	if err != nil || why != "" {
		return result.Result{}, false, why, err
	}
	runs, err := host.Catalog.List(ctx, catalog.Filter{ActionID: id, States: []catalog.State{catalog.Complete}, Limit: candidates})
	if err != nil {
		return result.Result{}, false, "", &CatalogError{err}
	}
	for _, run := range runs {
		whole, err := whole(ctx, host, run)
		if err != nil {
			return result.Result{}, false, "", err
		}
		if whole {
			result, err := reused(ctx, host, run, p, req)
			return result, true, "", err
		}
	}
	return result.Result{}, false, "", nil
}

// actionNow is the ActionID of a plan whose inputs are digested now; why says why there is none.
func actionNow(ctx context.Context, host *phase.Host, p *plan, req Request) (id, why string, err error) {
	if len(p.analysis.Secrets) > 0 {
		return "", "the values of secrets are not kept, so that nobody can tell whether they are the same", nil
	}
	waiting, release := untilStop(ctx, req.Stop, 0)
	report := result.Report{Inputs: digestInputs(waiting, host, p).settle(waiting, p)}
	if err := release(); err != nil {
		return "", "", &RequestError{err}
	}
	for _, in := range report.Inputs {
		if !isFixed(in) {
			return "", fmt.Sprintf("no digest says what %s %q holds: %s", in.Flag, in.Source, orChanged(in)), nil
		}
	}
	if p.base != nil && p.base.image != nil {
		digest := p.base.image.Digest.String()
		report.Sandbox.RootfsDigest = &digest
	}
	if report.Script, err = p.scriptNow(); err != nil {
		return "", "", err
	}
	known, err := p.actionID(report)
	if err != nil || known == nil {
		return "", "its root filesystem has no digest", err
	}
	return *known, "", nil
}

func orChanged(in result.Input) string {
	if in.Message != "" {
		return in.Message
	}
	return "it was changed meanwhile"
}

// scriptNow is the script as the result has it.
func (p *plan) scriptNow() (*result.Script, error) {
	s := p.inputs.script
	if s == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(s.file, 0, scriptMax+1))
	if err != nil || n == 0 {
		return &result.Script{Name: s.inside}, err
	}
	return &result.Script{Name: s.inside, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// whole reports whether all outputs of a run are still there.
func whole(ctx context.Context, host *phase.Host, run catalog.Run) (whole bool, err error) {
	if !run.OutputsRemovedAt.IsZero() {
		return false, nil
	}
	whole = true
	listed := host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" {
			whole, err = host.Blobs.Has(ctx, e.SHA256)
		}
		return whole && err == nil
	})
	return whole, errors.Join(listed, err)
}

// reused is the result of an earlier run, exported where that was asked for.
func reused(ctx context.Context, host *phase.Host, run catalog.Run, p *plan, req Request) (result.Result, error) {
	result, err := Show(ctx, host, run)
	if err != nil {
		return result, err
	}
	result.ReusedFrom = run.String()
	if p.analysis.Export != "" {
		err = Export(ctx, host, run, p.analysis.Export, req.Overwrite)
	}
	return result, err
}
