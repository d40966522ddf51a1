package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Copied is a copy's result.
type Copied struct {
	Runs      int64         `json:"runs"`    // copied now
	Already   int64         `json:"already"` // present before, and the same
	Outputs   int64         `json:"outputs"` // entries of all of them, read back and compared
	Blobs     int64         `json:"blobs"`   // copied now
	BlobBytes int64         `json:"blob_bytes"`
	Selftests int64         `json:"selftests"`  // of CopySelftests
	NotEnded  []catalog.Key `json:"-"`          // omitted
	TookOver  bool          `json:"took_over"`  // the blob store now belongs to the new catalog
	CatalogID string        `json:"catalog_id"` // of the new catalog
}

// Copy copies the ended runs of a catalog into another, with their blobs if these have a separate store. If both use one
// store, that is handed to the new catalog at the end, after all rows were read back and compared: from then on the old one
// writes nothing, and its gc cannot remove what the new one names. A run that has not ended is left out; if the store would
// be handed over, it fails the copy. Existing runs are compared and not copied: a further copy completes an interrupted one.
// What else the old catalog has must be copied before.
func Copy(ctx context.Context, from, to Store) (Copied, error) {
	c := &copier{from: from, to: to}
	if err := c.prepare(ctx); err != nil {
		return c.done, err
	}
	runs, err := c.ended(ctx)
	if err != nil {
		return c.done, err
	}
	for _, run := range slices.Backward(runs) { // the oldest first
		if err := c.run(ctx, run); err != nil {
			return c.done, fmt.Errorf("copy run %s: %w", catalog.Name{ID: run.ID, Attempt: run.Attempt}, err)
		}
	}
	if c.shared {
		return c.done, c.handOver(ctx)
	}
	return c.done, nil
}

type copier struct {
	from, to     Store
	fromID, toID string
	shared       bool // one blob store for both
	done         Copied
}

// prepare reads which stores exist and to whom they belong.
func (c *copier) prepare(ctx context.Context) (err error) {
	if c.fromID, err = c.from.Catalog.CatalogID(ctx); err != nil {
		return err
	}
	if c.toID, err = c.to.Catalog.CatalogID(ctx); err != nil {
		return err
	}
	if c.fromID == c.toID {
		return errors.New("--from and --to are one catalog; name two")
	}
	c.done.CatalogID = c.toID
	if c.shared, err = blob.Same(c.from.Blobs, c.to.Blobs); err != nil {
		return err
	}
	owner, err := c.from.Blobs.CatalogID(ctx)
	switch {
	case err != nil:
		return err
	case c.shared && owner == c.toID: // it was handed over before
	case owner != "" && owner != c.fromID:
		return fmt.Errorf("the blob store belongs to catalog %s and that of --from is %s: give the blob store of --from", owner, c.fromID)
	}
	if !c.shared {
		return c.to.Blobs.SetCatalogID(ctx, c.toID)
	}
	return nil
}

// ended lists the runs that can be copied, the newest first.
func (c *copier) ended(ctx context.Context) ([]catalog.Run, error) {
	runs, err := c.from.Catalog.List(ctx, catalog.Filter{})
	if err != nil {
		return nil, err
	}
	c.done.NotEnded = nil
	runs = slices.DeleteFunc(runs, func(run catalog.Run) bool {
		if !run.State.Final() {
			c.done.NotEnded = append(c.done.NotEnded, run.Key)
		}
		return !run.State.Final()
	})
	if n := len(c.done.NotEnded); n > 0 && c.shared {
		key := c.done.NotEnded[0]
		return nil, fmt.Errorf("%d of the runs have not ended, among them %s; wait for them, stop them, or run \"scidex-oci gc\" on their host: the blob store cannot be handed over before",
			n, catalog.Name{ID: key.ID, Attempt: key.Attempt})
	}
	return runs, nil
}

// run copies one run, or finds it copied.
func (c *copier) run(ctx context.Context, run catalog.Run) error {
	there, err := c.to.Catalog.Get(ctx, run.Key)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		err = c.transfer(ctx, run, true)
	case err == nil && there.State.Final():
		c.done.Already++
		err = c.drop(ctx, run, there)
	case err == nil && there.CreatedAt.Equal(run.CreatedAt) && there.Host == run.Host: // interrupted copy
		err = c.transfer(ctx, run, false)
	case err == nil:
		return errors.New("another run of this id and attempt has not ended there")
	}
	if err != nil {
		return err
	}
	return c.compare(ctx, run.Key)
}

// drop drops in the other catalog what was dropped from the store of both since an earlier copy.
func (c *copier) drop(ctx context.Context, run, there catalog.Run) error {
	if !c.shared || run.OutputsRemovedAt.IsZero() || !there.OutputsRemovedAt.IsZero() {
		return nil
	}
	err := c.to.Catalog.DropOutputs(ctx, run.Key, run.OutputsRemovedAt)
	if errors.Is(err, catalog.ErrPinned) {
		return fmt.Errorf("the contents of its outputs were removed and it is pinned in the other catalog; unpin it there, or remove it: %w", err)
	}
	return err
}

// transfer copies the blobs first: no row lacks its blob, even if this is interrupted.
func (c *copier) transfer(ctx context.Context, run catalog.Run, create bool) error {
	if !c.shared {
		release, err := c.to.Blobs.Hold(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = release() }() // prevents the removal of blobs, found ones too, until the rows name them
		ingest, err := c.to.Blobs.NewIngest("copy")
		if err != nil {
			return err
		}
		defer ingest.Close()
		if err := c.blobs(ctx, run, ingest); err != nil {
			return err
		}
	}
	events, err := c.from.Catalog.Events(ctx, run.Key)
	if err != nil {
		return err
	}
	if create {
		if err := c.to.Catalog.Create(ctx, Intent(run)); err != nil {
			return err
		}
	}
	run.Events = events
	next, stop := Entries(ctx, c.from.Catalog, run.Key)
	defer stop()
	if err := c.to.Catalog.Commit(ctx, run, next); err != nil {
		return err
	}
	c.done.Runs++
	return nil
}

// Intent is a run as it was created.
func Intent(run catalog.Run) catalog.Run {
	return catalog.Run{
		Key: run.Key, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: run.CreatedAt, StartedAt: run.StartedAt,
		Labels: run.Labels, Request: run.Request, Place: run.Place, Report: run.Report,
		Pinned: run.Pinned, Host: run.Host, BootID: run.BootID, ToolVersion: run.ToolVersion,
	}
}

// blobs copies the run's blobs that the other store lacks. Reading verifies them.
func (c *copier) blobs(ctx context.Context, run catalog.Run, ingest *cas.Ingest) error {
	var named []string
	err := c.from.references(ctx, run, func(r reference) error {
		named = append(named, r.sha256)
		problem, err := c.to.problem(ctx, r)
		if err != nil || problem == "" {
			return err
		}
		n, err := copyBlob(ctx, c.from.Blobs, ingest, r.sha256)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: the blob store of --from has no blob %s; if the run is of another host (%s), copy there", r.what, r.sha256, run.Host)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.what, err)
		}
		c.done.Blobs++
		c.done.BlobBytes += n
		return nil
	})
	if err != nil {
		return err
	}
	if err := ingest.Sync(); err != nil {
		return err
	}
	return c.to.Blobs.Keep(ctx, named, func() {})
}

func copyBlob(ctx context.Context, from *blob.Store, to *cas.Ingest, sha256 string) (int64, error) {
	in, err := from.Open(ctx, sha256)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return to.Put(sha256, in)
}

// CopySelftests copies the reports that to does not have, oldest first, and returns how many.
func CopySelftests(ctx context.Context, from, to catalog.Selftests) (copied int64, err error) {
	reports, err := from.Selftests(ctx, 0)
	if err != nil {
		return 0, err
	}
	there, err := to.Selftests(ctx, 0)
	if err != nil {
		return 0, err
	}
	have := map[string]int{}
	for _, report := range there {
		have[fingerprint(report)]++
	}
	for _, report := range slices.Backward(reports) {
		if name := fingerprint(report); have[name] > 0 {
			have[name]--
			continue
		}
		if err := to.AddSelftest(ctx, report); err != nil {
			return copied, err
		}
		copied++
	}
	return copied, nil
}

// handOver gives the store to the new catalog while no process is between publication and commit, unless the old one
// was written to since the comparison.
func (c *copier) handOver(ctx context.Context) (err error) {
	release, err := c.from.Blobs.Sweep()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	runs, err := c.ended(ctx)
	if err != nil {
		return err
	}
	if int64(len(runs)) != c.done.Runs+c.done.Already {
		return errors.New("runs have ended in the old catalog meanwhile; copy again")
	}
	if err := c.from.Blobs.ChangeCatalogID(ctx, c.fromID, c.toID); err != nil {
		return err
	}
	c.done.TookOver = true
	return nil
}

// Entries turns a push iterator into a pull iterator. Call stop after it.
func Entries(ctx context.Context, from catalog.Catalog, key catalog.Key) (next func() (outputs.Entry, error), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	found, ended := make(chan outputs.Entry), make(chan error, 1)
	go func() {
		err := from.Outputs(ctx, key, func(e outputs.Entry) bool {
			select {
			case found <- e:
				return true
			case <-ctx.Done():
				return false
			}
		})
		ended <- errors.Join(err, ctx.Err())
		close(found)
	}()
	next = func() (outputs.Entry, error) {
		if e, more := <-found; more {
			return e, nil
		}
		err := <-ended
		ended <- err // for repeated calls
		if err == nil {
			err = io.EOF
		}
		return outputs.Entry{}, err
	}
	stop = func() {
		cancel()
		for range found { // until the listing ends
		}
	}
	return next, stop
}
