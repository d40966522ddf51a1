package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// GCReport is what gc did or, dry, would do.
type GCReport struct {
	Committed []catalog.Key // runs that had ended and were committed by gc
	Lost      []catalog.Key // runs that were marked lost
	Removed   []string      // directories and control groups removed
	Expired   []ExpiredRun  // runs, or outputs, that retention removed
	// PostProcess are runs whose launcher was killed before their hook had ended.
	PostProcess []catalog.Key
	// Blobs and BlobBytes count the removed unnamed blobs.
	Blobs, BlobBytes int64
	Kept             []string // directories of runs that had ended but were not committed
	Foreign          []string // scidex-analysis-* directories of this user that no record here names; left alone
	Errors           []error
}

// collector is one gc.
type collector struct {
	*phase.Host
	dry        bool
	catalogID  string
	account    idmap.Account
	supervisor *sandbox.Supervisor
	report     GCReport
	known      map[string]bool // directories that a record of this root names
	retention  Retention
	hurried    time.Time            // deadline of uploads, and whether to bound the wait for the catalog; zero: neither
	expired    map[catalog.Key]bool // removed by retention, or would be
}

// GC removes what killed runs of this root and user left. It touches only what a run of this catalog or a state file of this
// root records, by device and inode, and nothing of a live run. A committed result stays unless retention expires it; a
// caller who may not delete is refused before anything is touched.
func GC(ctx context.Context, host *phase.Host, dryRun bool, retention Retention) (GCReport, error) {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return GCReport{}, err
	}
	if retention.Asked() {
		if err := mayDelete(ctx, host.Catalog); err != nil {
			return GCReport{}, err
		}
	}
	hostname, err := os.Hostname()
	if err != nil {
		return GCReport{}, err
	}
	c, err := newCollector(ctx, host)
	if err != nil {
		return GCReport{}, err
	}
	defer c.close()
	c.dry, c.retention = dryRun, retention
	if err := c.settle(ctx, hostname); err != nil {
		return c.report, err
	}
	c.sweepStates(ctx)
	if retention.Asked() {
		if err := c.retain(ctx, hostname); err != nil {
			return c.report, err
		}
	}
	c.findForeign(ctx)
	c.sweepViews(ctx)
	if err := c.sweepBlobs(ctx); err != nil {
		c.report.Errors = append(c.report.Errors, err)
	}
	return c.report, nil
}

// settle settles the runs of this host whose launcher is dead: ended ones are committed, the rest marked lost.
func (c *collector) settle(ctx context.Context, host string) error {
	c.commitOutcomes(ctx)
	runs, err := c.Catalog.List(ctx, catalog.Filter{States: []catalog.State{catalog.Running, catalog.Queued}, Host: host})
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(run catalog.Run) bool {
		judged, err := c.recover(ctx, run)
		if err != nil {
			c.report.Errors = append(c.report.Errors, fmt.Errorf("run %s: %w", run.Key, err))
		}
		return judged
	})
	c.sweepIngests(func(name string) bool { return c.resumable(ctx, name) }) // first, so that a kept directory shares no file
	for _, run := range runs {
		c.known[workspace.LocationOf(run).Dir] = true
		if err := c.reap(ctx, run); err != nil {
			c.report.Errors = append(c.report.Errors, fmt.Errorf("run %s: %w", run.Key, err))
		}
	}
	return nil
}

// Recover does the part of GC that settles the runs of killed launchers, so that each can be judged by its row. Errors are
// logged.
func Recover(ctx context.Context, host *phase.Host) error {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return err
	}
	c, err := newCollector(ctx, host)
	if err != nil {
		return err
	}
	defer c.close()
	err = c.settle(ctx, hostname)
	for _, err := range c.report.Errors {
		host.Log.Warn("left to scidex-oci gc", "error", err)
	}
	return err
}

func newCollector(ctx context.Context, host *phase.Host) (*collector, error) {
	account, err := idmap.ReadAccount()
	if err != nil {
		return nil, err
	}
	catalogID, _, err := store.Match(ctx, host.Catalog, host.Blobs)
	if err != nil {
		return nil, err
	}
	return &collector{Host: host, catalogID: catalogID, account: account, known: map[string]bool{}, expired: map[catalog.Key]bool{}}, nil
}

// sweepIngests removes the ingest directories of dead launchers, except those that spare names.
func (c *collector) sweepIngests(spare func(name string) bool) {
	act := c.Blobs.CleanIngests
	if c.dry {
		act = c.Blobs.DeadIngests
	}
	removed, err := act(spare)
	c.report.Removed = append(c.report.Removed, removed...)
	if err != nil {
		c.report.Errors = append(c.report.Errors, err)
	}
}

// elsewhere reports whether a run is of another root, whose lock says whether it is alive.
func (c *collector) elsewhere(run catalog.Run) bool {
	recorded := workspace.LocationOf(run).State
	return recorded != "" && recorded != workspace.StatePath(c.Root, run.Key)
}

// ofNamesake reports whether a run is of another machine with the same name and root path, as two named "localhost" may be.
// A container may get a new machine-id at each start; then the root that it kept has the run's state file.
func (c *collector) ofNamesake(run catalog.Run) (bool, error) {
	theirs, ours := workspace.LocationOf(run).Machine, workspace.MachineID()
	if theirs == "" || ours == "" || theirs == ours {
		return false, nil
	}
	_, err := os.Lstat(workspace.StatePath(c.Root, run.Key))
	return errors.Is(err, fs.ErrNotExist), workspace.Ignore(err, fs.ErrNotExist)
}

// reap ends the record of a run whose launcher is dead and removes what it left.
func (c *collector) reap(ctx context.Context, run catalog.Run) error {
	if c.elsewhere(run) {
		return nil
	}
	namesake, err := c.ofNamesake(run)
	if err != nil || namesake {
		return err
	}
	t, err := workspace.Lock(c.Root, run.Key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	// It may have ended between the listing and the lock; its state file is then swept separately.
	if run, err = c.Catalog.Get(ctx, run.Key); err != nil || run.State.Final() {
		return errors.Join(err, t.Leave())
	}
	return c.reapHeld(ctx, t, run)
}

// reapHeld is reap with the lock of the run, which it releases.
func (c *collector) reapHeld(ctx context.Context, t *workspace.StateFile, run catalog.Run) (err error) {
	place := t.Read(workspace.LocationOf(run))
	c.known[place.Dir] = true
	if pending.Exists(c.Host, run.Key) {
		return t.Close() // commitOutcome has logged the reason
	}
	if c.dry {
		c.report.Lost = append(c.report.Lost, run.Key)
		return errors.Join(c.sweep(ctx, place), t.Close())
	}
	// Removing comes first: a gc that dies in between finds the run again.
	if err := c.sweep(ctx, place); err != nil {
		return errors.Join(err, t.Close())
	}
	run.State, run.Reason, run.ExitCode = catalog.Lost, string(result.ReasonSupervisorLost), result.ExitError
	run.Message = "scidex-oci was killed while the analysis ran"
	if place.Ended {
		run.Message = "scidex-oci was killed before the result was committed; what the analysis wrote is in " + place.Dir
		if place.Promised {
			run.Message = "the result could be neither committed nor kept for later; what the analysis wrote is in " + place.Dir
		}
		if run.Report, err = json.Marshal(result.Report{Kept: place.Dir}); err != nil {
			return errors.Join(err, t.Close())
		}
	}
	run.FinishedAt = time.Now().UTC()
	if run.Place, err = json.Marshal(place); err != nil { // the intent row does not have the inode
		return errors.Join(err, t.Close())
	}
	if err := c.Catalog.Commit(ctx, run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }); err != nil {
		return errors.Join(err, t.Close())
	}
	c.report.Lost = append(c.report.Lost, run.Key)
	return t.Remove()
}

// sweepStates removes what state files of ended runs still name: runs whose cleaning failed.
func (c *collector) sweepStates(ctx context.Context) {
	entries, err := os.ReadDir(filepath.Join(c.Root, "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.report.Errors = append(c.report.Errors, err)
	}
	for _, entry := range entries {
		key, ok := workspace.KeyOfState(entry.Name())
		if !ok {
			continue
		}
		if err := c.sweepState(ctx, key); err != nil {
			c.report.Errors = append(c.report.Errors, fmt.Errorf("run %s: %w", key, err))
		}
	}
}

func (c *collector) sweepState(ctx context.Context, key catalog.Key) error {
	t, err := workspace.Lock(c.Root, key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	run, err := c.Catalog.Get(ctx, key)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) || err == nil && !run.State.Final() {
		return errors.Join(err, t.Close()) // reap has reported the error
	}
	if pending.Exists(c.Host, key) {
		c.known[t.Read(workspace.LocationOf(run)).Dir] = true
		return t.Leave()
	}
	return c.sweepEnded(ctx, t, run)
}

// sweepEnded removes what an ended run left, or keeps its directory if requested, and releases its lock.
func (c *collector) sweepEnded(ctx context.Context, t *workspace.StateFile, run catalog.Run) error {
	place := t.Read(workspace.LocationOf(run))
	c.known[place.Dir] = true
	if place.Catalog != "" && place.Catalog != c.catalogID {
		return t.Close() // a run of another catalog that shares the root
	}
	// A committed run's directory is no result any more, unless it was to be kept; that of a run taken for lost, whose
	// launcher could not commit any more, is the only copy, and so is that of a run whose row the catalog has lost (rm
	// removes the directory before the row). One that another worker has run since is not.
	kept := keptDir(run) == place.Dir && place.Dir != ""
	again, err := c.superseded(ctx, run)
	if err != nil {
		return errors.Join(err, t.Close())
	}
	if res, err := result.New(run); err == nil && res.PostProcess != nil && res.PostProcess.ExitCode == nil {
		c.report.PostProcess = append(c.report.PostProcess, run.Key)
	}
	place.Ended = kept || place.Ended && !again && (run.State == catalog.Lost || run.ID == "")
	if err := c.sweep(ctx, place); err != nil || c.dry {
		return errors.Join(err, t.Close())
	}
	return t.Remove()
}

// superseded reports whether a run was taken for lost and the queue has given its analysis to another worker. Its later
// results are of no use, as its worker would have found, had it lived.
func (c *collector) superseded(ctx context.Context, run catalog.Run) (bool, error) {
	if run.State != catalog.Lost || keptDir(run) != "" {
		return false, nil
	}
	last, err := c.Catalog.Get(ctx, catalog.Key{ID: run.ID})
	return last.Attempt > run.Attempt, workspace.Ignore(err, catalog.ErrNotFound)
}
