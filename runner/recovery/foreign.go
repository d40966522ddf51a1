package recovery

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// findForeign reports directories of this user that look like a run's although no record names them. They belong to another root or
// to another program, so gc never removes them.
func findForeign(ctx context.Context, p *pass) {
	paths, err := filepath.Glob(filepath.Join(p.Tmp, lockdir.RunPrefix+"*"))
	p.report.fail(err)
	for _, path := range paths {
		if isMine(p, path) && !recorded(ctx, p, path) && isMine(p, path) { // again: a run that has just ended removed it
			p.report.Foreign = append(p.report.Foreign, path)
		}
	}
}

// isMine reports whether a path exists and belongs to the calling user.
func isMine(p *pass, path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && int(st.Uid) == p.access.account.UID
}

// recorded reports whether a directory is that of a live run or the kept one of a run of this catalog.
func recorded(ctx context.Context, p *pass, path string) bool {
	id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), lockdir.RunPrefix), "@")
	if p.isRecorded(path) {
		return true
	}
	runs, err := p.Catalog.List(ctx, catalog.Filter{ID: id})
	p.report.fail(err)
	return slices.ContainsFunc(runs, func(run catalog.Run) bool {
		return !run.State.Final() || workspace.IsInode(path, workspace.LocationOf(run))
	})
}
