package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// NewQueued returns the row of an analysis that another process will run as its next attempt, not written yet. Its errors
// are those of Run for a refused request. It only checks that what the analysis names exists: the host that runs it decides
// what may be bound and whether it has room.
//
// The request is kept as made, without defaults, since a requested limit is enforced more strictly than a default one.
// Relative paths are resolved in this process.
func NewQueued(ctx context.Context, host *phase.Host, a spec.Analysis) (catalog.Run, error) {
	a, err := inCurrentDirectory(a)
	if err != nil {
		return catalog.Run{}, err
	}
	if err := first(a.WithDefaults().Validate, func() error { return checkThere(ctx, host, a) }); err != nil {
		return catalog.Run{}, &request.Error{Err: err}
	}
	key, err := nextAttempt(ctx, host, a.ID, request.Request{})
	if err != nil {
		return catalog.Run{}, &request.Error{Err: err}
	}
	a.ID = key.ID
	raw, err := json.Marshal(a)
	if err != nil {
		return catalog.Run{}, err
	}
	if err := checkSize(raw); err != nil {
		return catalog.Run{}, &request.Error{Err: err}
	}
	return catalog.Run{
		Key: key, Outcome: outcome.Outcome{State: outcome.Queued}, CreatedAt: time.Now().UTC(), Labels: a.Labels, Request: raw, ToolVersion: host.Version,
	}, nil
}

// ReadQueued parses the request of a queued row for the worker that runs it. Others than NewQueued write such rows, too, by
// SQL: unknown fields, an export, and paths that depend on the host are refused. Unnamed data and docs are none, whatever
// the worker's directory holds.
func ReadQueued(raw json.RawMessage) (a spec.Analysis, err error) {
	if err := checkSize(raw); err != nil {
		return spec.Analysis{}, err
	}
	type queued struct {
		*spec.Analysis
		Warm json.RawMessage `json:"warm"` // earlier programs queued it; it changed nothing
	}
	if err := exactjson.Unmarshal(raw, &queued{Analysis: &a}); err != nil {
		return spec.Analysis{}, err
	}
	or := func(path *string) {
		if *path == "" {
			*path = spec.None
		}
	}
	or(&a.Data)
	or(&a.Docs)
	if a.Export != "" {
		return a, fmt.Errorf("export %q: a worker exports nothing; the outputs are in the catalog", a.Export)
	}
	named, err := pathsOf(a)
	if err != nil {
		return a, err
	}
	for _, n := range named {
		if !filepath.IsAbs(n.path) {
			return a, fmt.Errorf("%s %q: a worker opens it by the same path; give one that begins with /", n.field, n.path)
		}
	}
	return a, nil
}

// maxQueued bounds a queued request in bytes: a manifest's bound, with room for escapes and absolute paths.
const maxQueued = 4 << 20

func checkSize(raw json.RawMessage) error {
	if len(raw) > maxQueued {
		return fmt.Errorf("the request has %s, and the queue takes at most %s; what is larger is data and belongs into an input", format.Size(int64(len(raw))), format.Size(maxQueued))
	}
	return nil
}

// named is a path of the host and the field that names it.
type named struct{ field, path string }

// pathsOf are those that an analysis names.
func pathsOf(a spec.Analysis) (all []named, err error) {
	inputs, err := a.ParseInputs()
	if err != nil {
		return nil, err
	}
	fields := []named{
		{"script", a.Script}, {"project", a.Project}, {"stage", a.Stage}, {"data", a.Data}, {"docs", a.Docs}, {"runtime", a.Runtime},
	}
	if a.RootfsDirectory() {
		fields = append(fields, named{"rootfs", a.Rootfs})
	}
	for _, input := range inputs {
		if _, blob := input.Digest(); !blob {
			fields = append(fields, named{"input", input.Source})
		}
	}
	for _, n := range fields {
		if n.path != "" && n.path != spec.None {
			all = append(all, n)
		}
	}
	return all, nil
}

// checkThere refuses what would be refused everywhere: a mistyped name. A runtime may be on the workers only.
func checkThere(ctx context.Context, host *phase.Host, a spec.Analysis) error {
	all, err := pathsOf(a)
	if err != nil {
		return err
	}
	if err := checkBlobs(ctx, host, a); err != nil {
		return err
	}
	for _, n := range all {
		if n.field == "runtime" {
			continue
		}
		if _, err := os.Stat(n.path); err != nil {
			return fmt.Errorf("--%s %q: %w; a worker opens it by the same path", n.field, n.path, inode.Plain(err))
		}
	}
	return nil
}

// checkBlobs refuses inputs by digest that the blob store does not have.
func checkBlobs(ctx context.Context, host *phase.Host, a spec.Analysis) error {
	inputs, err := a.ParseInputs()
	if err != nil {
		return err
	}
	for _, input := range inputs {
		digest, blob := input.Digest()
		if !blob {
			continue
		}
		if err := first(func() error { return inStore(host, input) }, func() error { return checkBlob(ctx, host, digest) }); err != nil {
			return fmt.Errorf("--input %q: %w", input.Source, err)
		}
	}
	return nil
}

func checkBlob(ctx context.Context, host *phase.Host, digest string) error {
	has, err := host.Blobs.Has(ctx, digest)
	if err == nil && !has {
		err = fmt.Errorf("it is not in the blob store %s; a worker takes it from there", host.Blobs)
	}
	return err
}
