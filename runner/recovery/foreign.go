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

// findForeign names directories of this user that look like a run's and that no record names: another root's, or the
// platform's. They are never removed.
func (c *collector) findForeign(ctx context.Context) {
	paths, err := filepath.Glob(filepath.Join(c.Tmp, lockdir.RunPrefix+"*"))
	c.Report.Fail(err)
	for _, path := range paths {
		if c.isMine(path) && !c.recorded(ctx, path) && c.isMine(path) { // again: a run that has ended meanwhile removed it
			c.Report.Foreign = append(c.Report.Foreign, path)
		}
	}
}

// isMine reports whether a path exists and belongs to the calling user.
func (c *collector) isMine(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && int(st.Uid) == c.Access.Account.UID
}

// recorded reports whether a directory is that of a live run or the kept one of a run of this catalog.
func (c *collector) recorded(ctx context.Context, path string) bool {
	id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), lockdir.RunPrefix), "@")
	if c.Recorded(path) {
		return true
	}
	runs, err := c.Catalog.List(ctx, catalog.Filter{ID: id})
	c.Report.Fail(err)
	return slices.ContainsFunc(runs, func(run catalog.Run) bool {
		return !run.State.Final() || workspace.IsInode(path, workspace.LocationOf(run))
	})
}
