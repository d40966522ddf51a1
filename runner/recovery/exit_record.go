package recovery

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// resumableEnd reads the exit record of a run. It returns false if there is none, or if the working directory may be
// incomplete.
func resumableEnd(host *phase.Host, run catalog.Run) (ended phase.Ended, whole bool, err error) {
	state := workspace.StatePath(host.Root, run.Key)
	if workspace.LocationOf(run).State != state || pending.Exists(host, run.Key) {
		return ended, false, nil
	}
	ended, err = workspace.ReadExitRecord(state)
	if err != nil || ended.BootID == "" || ended.BootID != workspace.BootID() {
		return ended, false, workspace.Ignore(workspace.Ignore(err, fs.ErrNotExist), record.ErrDamaged)
	}
	return ended, true, nil
}

// needsIngest reports whether an ingest directory is that of a run that is resumed first: one that has not ended.
func needsIngest(ctx context.Context, p *pass, ingest string) bool {
	id, ok := idOfIngest(ingest)
	if !ok {
		return false
	}
	found, _ := filepath.Glob(filepath.Join(workspace.GlobEscape(p.Root), "runs", workspace.GlobEscape(id)+"@*.aftermath")) // the pattern is good
	for _, path := range found {
		var a phase.Ended
		content, err := record.Open(path, &a)
		if errors.Is(err, record.ErrNewer) {
			return true // by a newer program
		}
		if err != nil {
			continue // a damaged one is of no use
		}
		_ = content.Close() // it was only read
		if a.Ingest == ingest && a.BootID == workspace.BootID() {
			return !final(ctx, p.Catalog, strings.TrimSuffix(filepath.Base(path), ".aftermath"))
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

// final reports whether a run has ended for certain.
func final(ctx context.Context, c catalog.Catalog, name string) bool {
	key, ok := workspace.ParseKey(name)
	if !ok {
		return false
	}
	run, err := c.Get(ctx, key)
	return err == nil && run.State.Final()
}
