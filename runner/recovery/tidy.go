package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// tidyTime bounds what a command does for other runs, including all waiting for the catalog. It is enough to remove a
// hundred thousand files; the next command continues a removal that was cut short.
const tidyTime = 5 * time.Second

// tidying is one Tidy. Its pass is made for the first dead run.
type tidying struct {
	*phase.Host
	uid  int
	pass *pass // nil before
}

// Tidy does what GC does, by the same code, for killed runs of this root and host that have a state file: it marks them lost
// and removes what they left. Every command that writes calls it, so it is cheap if nothing is dead (one listing, and one
// lock to try per live run) and bounded otherwise. It does not harvest what a killed launcher had not committed: that takes
// as long as the outputs are large, and an interrupted harvest is wasted. It ignores what has no state file, other blobs and
// other directories. What is left to GC, and why, is logged; nothing of it is an error of the command.
func Tidy(ctx context.Context, host *phase.Host) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	y := &tidying{Host: host, uid: os.Geteuid()}
	defer y.close(ctx)
	names, err := stateFiles(host.Root)
	if err != nil {
		y.warn(err)
	}
	for _, key := range names {
		err := y.look(ctx, key)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("not done within %v, nor what may come after it", tidyTime)
		}
		if err != nil {
			y.warn(fmt.Errorf("run %s: %w", key, err))
		}
		if err != nil && (ctx.Err() != nil || y.pass == nil) {
			return // it would fail for others, too
		}
	}
}

// look handles a run if it is dead.
func (y *tidying) look(ctx context.Context, key catalog.Key) error {
	t, err := workspace.LockDead(y.Root, key, y.uid)
	if err != nil || t == nil {
		return err
	}
	if err := y.ready(ctx); err != nil {
		return errors.Join(err, t.Close())
	}
	return tidyRun(ctx, y.pass, t, key)
}

// ready makes the pass.
func (y *tidying) ready(ctx context.Context) (err error) {
	if y.pass == nil {
		y.pass, err = newPass(ctx, y.Host, false)
	}
	return err
}

// close logs what was found.
func (y *tidying) close(ctx context.Context) {
	p := y.pass
	if p == nil {
		return
	}
	if ctx.Err() == nil {
		sweepViews(ctx, p)
	}
	p.close()
	for _, key := range p.report.Lost {
		y.Log.Info("a killed run is marked lost", "run", key.String())
	}
	for _, key := range p.report.PostProcess {
		y.Log.Warn("a post-process command was killed with its scidex-oci; scidex-oci post-process repeats it", "run", key.String())
	}
	for _, dir := range p.report.Kept {
		y.Log.Warn("a directory is kept: it holds the only copy of what its run wrote", "dir", dir)
	}
	for _, err := range p.report.Errors {
		y.warn(err)
	}
}

func (y *tidying) warn(err error) {
	y.Log.Warn("left to scidex-oci gc", "error", err)
}

// stateFiles lists the runs that have a state file, live or dead.
func stateFiles(root string) (keys []catalog.Key, err error) {
	entries, err := os.ReadDir(filepath.Join(root, "runs"))
	for _, entry := range entries {
		if key, ok := workspace.KeyOfState(entry.Name()); ok {
			keys = append(keys, key)
		}
	}
	return keys, workspace.Ignore(err, fs.ErrNotExist)
}
