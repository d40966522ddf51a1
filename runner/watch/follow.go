package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/owned"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// The polling intervals of a run's files, and of its row, which may be in a remote database.
const (
	watchFiles = 100 * time.Millisecond
	watchRow   = time.Second
)

// Streams are where standard output and standard error of a run go; nil discards.
type Streams [2]io.Writer

// CopyLogs writes what is kept of a run's streams: all of it for an ended run, for a live one what there is so far, and with
// follow everything until its end. It returns the run as it was then; ErrDead means that it will never end, because its
// launcher was killed.
func CopyLogs(ctx context.Context, host *phase.Host, run catalog.Run, to Streams, follow bool) (catalog.Run, error) {
	f := &follower{Host: host, run: run}
	defer f.close()
	for i, w := range to {
		f.tails[i].to = w
	}
	if run.State.Final() {
		return f.run, f.finish(ctx)
	}
	err := f.follow(ctx, follow)
	if err == nil && f.run.State.Final() {
		err = f.finish(ctx)
	}
	return f.run, err
}

// follower copies the two growing logs of one run.
type follower struct {
	*phase.Host
	run   catalog.Run
	live  *Live
	tails [2]growing
}

// follow copies until the run has ended, or once.
func (f *follower) follow(ctx context.Context, on bool) (err error) {
	if f.live, err = Attach(f.Host, f.run); err != nil {
		return errors.Join(f.ended(ctx, err), f.salvage())
	}
	for looked := time.Now(); ; {
		within := time.Duration(0)
		if on {
			within = watchFiles
		}
		ended, err := f.live.Ended(within)
		if err == nil {
			err = f.copyLive() // after the check: what was written before is there
		}
		switch {
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case ended:
			return f.ended(ctx, ErrDead)
		case on && time.Since(looked) < watchRow:
			continue
		}
		looked = time.Now()
		if f.run, err = f.Catalog.Get(ctx, f.run.Key); err != nil || f.run.State.Final() {
			return err
		}
		// Between publication and commit the logs are in neither location.
		if location, err := f.live.read(); !on && (err != nil || !location.Ended) {
			return err
		}
		on = true
	}
}

// ended reads the row of a run that is not held any more; if that has no end, it returns otherwise.
func (f *follower) ended(ctx context.Context, otherwise error) error {
	run, err := f.Catalog.Get(ctx, f.run.Key)
	if err != nil {
		return err
	}
	f.run = run
	if run.State.Final() {
		return nil
	}
	return otherwise
}

// copyLive copies what was appended to the logs.
func (f *follower) copyLive() error {
	location, err := f.live.read()
	if err != nil {
		return workspace.Ignore(err, ErrDead)
	}
	return f.copy(location)
}

// salvage copies what a killed launcher left of the logs.
func (f *follower) salvage() error {
	if host, err := os.Hostname(); f.run.State.Final() || err != nil || f.run.Host != host {
		return err
	}
	left := workspace.StateFile{Path: workspace.StatePath(f.Root, f.run.Key)}
	return f.copy(left.Read(workspace.Location{}))
}

func (f *follower) copy(location workspace.Location) error {
	if len(location.Logs) != len(f.tails) {
		return nil // they were not named yet
	}
	for i := range f.tails {
		if err := f.tails[i].copy(location.Logs[i]); err != nil {
			return fmt.Errorf("%s: %w", workspace.LogNames[i], err)
		}
	}
	return nil
}

// finish copies to the end: of the file that was open when it became a blob, or else of the blob.
func (f *follower) finish(ctx context.Context) error {
	report, err := result.ReportOf(f.run)
	if err != nil {
		return fmt.Errorf("report of run %q: %w", f.run.Key, err)
	}
	for i, log := range []result.Log{report.Logs.Stdout, report.Logs.Stderr} {
		var err error
		switch g := &f.tails[i]; {
		case g.to == nil:
		case g.file != nil:
			_, err = io.Copy(g.to, g.file)
		case log.SHA256 != "":
			err = f.copyBlob(ctx, g.to, log.SHA256)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", workspace.LogNames[i], err)
		}
	}
	return nil
}

func (f *follower) copyBlob(ctx context.Context, to io.Writer, sha256 string) error {
	blob, err := f.Blobs.Open(ctx, sha256)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, blob)
	return errors.Join(err, blob.Close())
}

func (f *follower) close() {
	for i := range f.tails {
		f.tails[i].close()
	}
	if f.live != nil {
		_ = f.live.Close() // it was read
	}
}

// growing is a file still written to and its copy.
type growing struct {
	to   io.Writer
	file *os.File
}

// copy opens the file once it exists, and copies what was appended since the last call. It stays open: it is renamed to a
// blob, or removed because there is one with the same content.
func (g *growing) copy(path string) error {
	if g.to == nil {
		return nil
	}
	if g.file == nil {
		file, err := openLog(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was written yet
		}
		if err != nil {
			return err
		}
		g.file = file
	}
	_, err := io.Copy(g.to, g.file)
	return err
}

func (g *growing) close() {
	if g.file != nil {
		_ = g.file.Close() // it was read
	}
}

// openLog opens a file owned by the caller; the supervisor may write to its directory.
func openLog(path string) (*os.File, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	if err := owned.Check(file, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", path, err), file.Close())
	}
	return file, nil
}
