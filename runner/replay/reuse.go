package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/digest"
	"github.com/scidex-ai/scidex-oci/runner/inputs/stdin"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// candidates is how many runs of one action are checked, the newest first: one whose outputs were removed may be followed by
// one whose outputs exist.
const candidates = 10

// Reuse finds a complete run of the same action, whose outputs still exist, and returns its result. found is false where
// there is none; why says why none can be.
func Reuse(ctx context.Context, host *phase.Host, req request.Request, launched *warm.Sandbox) (_ result.Result, found bool, why string, err error) {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return result.Result{}, false, "", err
	}
	p, err := plan.New(ctx, host, req, launched)
	if err != nil {
		return result.Result{}, false, "", request.Refusal(err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	id, why, err := actionNow(ctx, host, p, req)
	if err != nil || why != "" {
		return result.Result{}, false, why, err
	}
	runs, err := host.Catalog.List(ctx, catalog.Filter{ActionID: id, States: []outcome.State{outcome.Complete}, Limit: candidates})
	if err != nil {
		return result.Result{}, false, "", &request.CatalogError{Err: err}
	}
	for _, run := range runs {
		if host.Sign.Given() && !signed(run) {
			continue // what is to be signed is not answered by what is not
		}
		whole, err := whole(ctx, host, run)
		if err != nil {
			return result.Result{}, false, "", err
		}
		if whole {
			res, err := reused(ctx, host, run, p, req)
			return res, true, "", err
		}
	}
	return result.Result{}, false, "", nil
}

// actionNow is the ActionID of a plan whose inputs are digested now; why says why there is none.
func actionNow(ctx context.Context, host *phase.Host, p *plan.Plan, req request.Request) (id, why string, err error) {
	if len(p.Analysis.Secrets) > 0 {
		return "", "the values of secrets are not kept, so it is unknown whether they are the same", nil
	}
	waiting, release := request.UntilStop(ctx, req.Stop, 0)
	report := result.Report{Inputs: digest.New(host, p).Start(waiting).Wait(waiting)}
	if err := release(); err != nil {
		return "", "", &request.Error{Err: err}
	}
	for _, in := range report.Inputs {
		if !plan.IsFixed(in) {
			return "", fmt.Sprintf("no digest says what %s %q holds: %s", in.Flag, in.Source, orChanged(in)), nil
		}
	}
	if p.Base != nil && p.Base.Image != nil {
		digest := p.Base.Image.Digest.String()
		report.Sandbox.RootfsDigest = &digest
	}
	if report.Script, err = p.ScriptNow(); err != nil {
		return "", "", err
	}
	if in, known := req.Stdin.(*stdin.Known); known {
		report.Stdin = &result.Stdin{Bytes: in.Bytes, SHA256: in.SHA256}
	}
	known, err := p.ActionID(report)
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

// cutLogs says which streams were printed in part, because no more of them was kept.
func cutLogs(res result.Result) (warnings []string) {
	for name, log := range map[string]result.Log{"stdout": res.Logs.Stdout, "stderr": res.Logs.Stderr} {
		if log.Truncated {
			warnings = append(warnings, fmt.Sprintf("of %s of the reused run only a part was kept: it wrote %s", name, format.Size(log.Bytes)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// signed reports whether a run has a statement.
func signed(run catalog.Run) bool {
	report, err := result.ReportOf(run)
	return err == nil && report.Statement != nil
}

// whole reports whether all outputs, logs and the script of a run still exist.
func whole(ctx context.Context, host *phase.Host, run catalog.Run) (whole bool, err error) {
	if !run.OutputsRemovedAt.IsZero() {
		return false, nil
	}
	for _, sha256 := range run.Blobs {
		if whole, err = host.Blobs.Has(ctx, sha256); !whole || err != nil {
			return false, err
		}
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

// reused is the result of an earlier run, exported if requested.
func reused(ctx context.Context, host *phase.Host, run catalog.Run, p *plan.Plan, req request.Request) (result.Result, error) {
	res, err := watch.Show(ctx, host, run)
	if err != nil {
		return res, err
	}
	res.ReusedFrom = run.String()
	if _, err := watch.CopyLogs(ctx, host, run, watch.Streams{req.Stdout, req.Stderr}, false); err != nil {
		return res, err
	}
	res.Warnings = append(res.Warnings, cutLogs(res)...)
	if p.Export != nil {
		var left deliver.LeftOut
		left, err = deliver.Export(ctx, host, run, p.Export)
		if warning := left.Warning(); warning != "" {
			res.Warnings = append(res.Warnings, warning)
		}
	}
	return res, err
}
