package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/inode"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Queued is the row of an analysis that another process is to run as its next attempt, not written yet. Its errors are
// those of Run for a request that is refused. It looks at no more of what the analysis names than whether that is there:
// what may be bound, and whether a host has room for it, is for the host that runs it.
//
// The request is kept as it was asked for, without defaults, since a limit that was asked for is held more strictly than
// one that was not. Relative paths are this process' own.
func (r *Runner) Queued(ctx context.Context, a spec.Analysis) (catalog.Run, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return catalog.Run{}, err
	}
	a.Data = defaultInput(a.Data, filepath.Join(cwd, "data"))
	a.Docs = defaultInput(a.Docs, filepath.Join(cwd, "docs"))
	a = a.ResolvePaths(cwd)
	if err := first(a.WithDefaults().Validate, func() error { return checkThere(a) }); err != nil {
		return catalog.Run{}, &RequestError{err}
	}
	key, err := r.nextAttempt(ctx, a.ID, false)
	if err != nil {
		return catalog.Run{}, &RequestError{err}
	}
	a.ID = key.ID
	request, err := json.Marshal(a)
	if err != nil {
		return catalog.Run{}, err
	}
	return catalog.Run{
		Key: key, State: catalog.Queued, CreatedAt: time.Now().UTC(), Labels: a.Labels, Request: request, ToolVersion: r.Version,
	}, nil
}

// checkThere refuses what would be refused everywhere: a name that was mistyped.
func checkThere(a spec.Analysis) error {
	type named struct{ flag, path string }
	all := []named{{"script", a.Script}, {"project", a.Project}, {"stage", a.Stage}, {"data", a.Data}, {"docs", a.Docs}}
	if a.RootfsDirectory() {
		all = append(all, named{"rootfs", a.Rootfs})
	}
	inputs, err := a.ParseInputs()
	if err != nil {
		return err
	}
	for _, input := range inputs {
		all = append(all, named{"input", input.Source})
	}
	for _, n := range all {
		if n.path == "" || n.path == spec.None {
			continue
		}
		if _, err := os.Stat(n.path); err != nil {
			return fmt.Errorf("--%s %q: %w; a worker opens it by the same path", n.flag, n.path, inode.Plain(err))
		}
	}
	return nil
}
