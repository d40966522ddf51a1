package recovery

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// resumable reports whether an ingest directory is that of a run that recovery handles first: one that has not ended.
func (c *collector) resumable(ctx context.Context, ingest string) bool {
	id, ok := idOfIngest(ingest)
	if !ok {
		return false
	}
	found, _ := filepath.Glob(filepath.Join(workspace.GlobEscape(c.Root), "runs", workspace.GlobEscape(id)+"@*.aftermath")) // the pattern is good
	for _, path := range found {
		var a phase.Ended
		content, err := record.Open(path, &a)
		if err != nil {
			continue // a damaged one is of no use
		}
		_ = content.Close() // it was only read
		if a.Ingest == ingest && a.BootID == workspace.BootID() {
			return !c.ended(ctx, strings.TrimSuffix(filepath.Base(path), ".aftermath"))
		}
	}
	return false
}

// idOfIngest reads the name of an ingest directory: <id>-<random>.
func idOfIngest(name string) (id string, ok bool) {
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return "", false
	}
	return name[:cut], true
}

// ended reports whether a run has ended for certain.
func (c *collector) ended(ctx context.Context, name string) bool {
	key, ok := workspace.ParseKey(name)
	if !ok {
		return false
	}
	run, err := c.Catalog.Get(ctx, key)
	return err == nil && run.State.Final()
}
