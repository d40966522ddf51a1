package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// commit commits the record of a run and returns its row. If another worker has the analysis, that is the lost row of this one.
// If there was nothing to commit, the row has no id.
func (c committer) commit(ctx context.Context, key catalog.Key) (none catalog.Run, err error) {
	path := pending.Path(c.Host, key)
	if !c.dry {
		_ = os.Remove(path + record.Unfinished) // of a launcher that was killed
	}
	var waiting pending.Record
	content, err := record.Open(path, &waiting)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil // another command was faster
	}
	if errors.Is(err, record.ErrDamaged) {
		return none, fmt.Errorf("its result, kept in %q, cannot be read: %w; the run and its directory stay as they are until you remove that file", path, err)
	}
	if errors.Is(err, record.ErrNewer) {
		return none, fmt.Errorf("its result, kept in %q, is not committed: %w", path, err)
	}
	if err != nil {
		return none, err
	}
	defer content.Close()
	if waiting.Catalog != c.catalogID {
		return none, nil // of another catalog that shares the root
	}
	if c.dry {
		return waiting.Run, nil
	}
	return c.write(ctx, key, waiting.Run, content)
}

// write commits a run with its entries and removes its record.
func (c committer) write(ctx context.Context, key catalog.Key, run catalog.Run, content *record.Record) (none catalog.Run, err error) {
	path := pending.Path(c.Host, key)
	release, err := c.holdBlobs(ctx)
	if err != nil {
		return none, err
	}
	defer release()
	if err := c.keepBlobs(ctx, path); err != nil {
		return none, notNow(path, err)
	}
	if err := c.create(ctx, run); err != nil {
		return none, notNow(path, err)
	}
	err = c.writeRows(ctx, run, content)
	if errors.Is(err, catalog.ErrEnded) {
		return c.endedOtherwise(context.WithoutCancel(ctx), key, err)
	}
	if err != nil {
		return none, notNow(path, err)
	}
	if err := removeRecord(path); err != nil {
		return none, err
	}
	return c.Catalog.Get(context.WithoutCancel(ctx), key)
}

// create writes the intent again if the catalog was restored from a backup that is older than the run.
func (c committer) create(ctx context.Context, run catalog.Run) error {
	_, err := c.Catalog.Get(ctx, run.Key)
	if errors.Is(err, catalog.ErrNotFound) {
		err = c.Catalog.Create(ctx, store.Intent(run))
	}
	return err
}

func notNow(path string, err error) error {
	return fmt.Errorf("its result, kept in %q, could not be committed now: %w", path, err)
}

// catalogTime bounds how long a command with another purpose waits for a locked catalog.
const catalogTime = 5 * time.Second

// writeRows is one transaction. A command with another purpose bounds the wait for it, but not the transaction itself.
func (c committer) writeRows(ctx context.Context, run catalog.Run, content *record.Record) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := func() {}
	if c.bounded() {
		timer := time.AfterFunc(catalogTime, cancel)
		started = func() { timer.Stop() }
	}
	return c.Catalog.Commit(ctx, run, func() (outputs.Entry, error) { started(); return content.Next() })
}

// endedOtherwise handles the record of a run that has another end: it removes the record if another worker has the analysis, and
// otherwise renames it to a refused one.
func (c committer) endedOtherwise(ctx context.Context, key catalog.Key, ended error) (none catalog.Run, err error) {
	path := pending.Path(c.Host, key)
	run, err := c.Catalog.Get(ctx, key)
	again, failed := superseded(ctx, c.Catalog, run)
	if err = errors.Join(err, failed); err != nil {
		return none, err
	}
	if again {
		c.Log.Warn("another worker has the analysis; what this one made of it is removed", "run", key.String())
		return run, removeRecord(path)
	}
	return none, errors.Join(fmt.Errorf("%w: what it was to commit is in %q and stays there", ended, path+pending.Refused), os.Rename(path, path+pending.Refused))
}

func removeRecord(path string) error {
	return errors.Join(os.Remove(path), atomicfile.SyncDir(filepath.Dir(path)))
}
