package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// outcomesDir is where, below the root, outcomes wait that could not be committed: a record for each run.
const outcomesDir = "outcomes"

// refused ends the name of an outcome that can never be committed, because the run has ended otherwise.
const refused = ".refused"

// outcome is the head of such a record. Its entries are those of the harvest.
type outcome struct {
	V       int         `json:"v"` // 1
	Catalog string      `json:"catalog"`
	Message string      `json:"message"` // what the caller was told
	Run     catalog.Run `json:"run"`     // as it was to be committed
}

func outcomePath(host *phase.Host, key catalog.Key) string {
	return filepath.Join(host.Root, outcomesDir, key.String())
}

// waits reports whether the outcome of a run waits to be committed.
func waits(host *phase.Host, key catalog.Key) bool {
	_, err := os.Lstat(outcomePath(host, key))
	return !errors.Is(err, fs.ErrNotExist) // where that cannot be told, nobody takes the run for another
}

// keepOutcome keeps for later what could not be committed, and returns what the user is to know.
func (e *execution) keepOutcome(ctx context.Context, why error) error {
	path, then := outcomePath(e.Host, e.run.Key), `the next command or "scidex-oci gc" commits it`
	if errors.Is(why, catalog.ErrEnded) {
		path, then = path+refused, "and stays there"
	}
	told := fmt.Errorf("the result could not be committed: %w; it is kept in %q, %s", why, path, then)
	next, err := e.entries.read()
	if err == nil {
		err = record.Keep(path, outcome{V: 1, Catalog: e.place.Catalog, Message: told.Error(), Run: e.run}, next)
	}
	if err == nil {
		return told
	}
	return e.keepWork(ctx, fmt.Errorf("the result could not be committed: %w; nor could it be kept for later: %w", why, err))
}

// outcomes lists the records of outcomes that wait, and those that are kept aside.
func outcomes(host *phase.Host) (waiting []catalog.Key, aside []string, err error) {
	entries, err := os.ReadDir(filepath.Join(host.Root, outcomesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), refused) {
			aside = append(aside, filepath.Join(host.Root, outcomesDir, entry.Name()))
		} else if key, ok := keyOfName(strings.TrimSuffix(entry.Name(), record.Unfinished)); ok {
			waiting = append(waiting, key)
		}
	}
	return waiting, aside, err
}

// Waiting is how many results wait below the root to be committed.
func Waiting(host *phase.Host) (int, error) {
	waiting, _, err := outcomes(host)
	return len(waiting), err
}

// keyOfName reads <id>@<attempt>.
func keyOfName(name string) (key catalog.Key, ok bool) {
	id, attempt, cut := strings.Cut(name, "@")
	n, err := strconv.Atoi(attempt)
	if !cut || err != nil || n < 1 || strconv.Itoa(n) != attempt {
		return catalog.Key{}, false
	}
	return catalog.Key{ID: id, Attempt: n}, true
}

// CommitOutcomes commits what runs of this root could not commit at their end, and returns those runs. What cannot be
// committed now either is logged and stays.
func CommitOutcomes(ctx context.Context, host *phase.Host) []catalog.Key {
	waiting, _, err := outcomes(host)
	if len(waiting) == 0 {
		if err != nil {
			host.Log.Warn("results that wait to be committed", "error", err)
		}
		return nil
	}
	c, err := newCollector(ctx, host)
	if err != nil {
		host.Log.Warn("results that wait to be committed", "error", err)
		return nil
	}
	defer c.close()
	c.hurried = time.Now().Add(hurriedUpload)
	c.commitOutcomes(ctx)
	for _, err := range c.report.Errors {
		host.Log.Warn("a result waits to be committed", "error", err)
	}
	return c.report.Committed
}

// commitOutcomes commits what waits.
func (c *collector) commitOutcomes(ctx context.Context) {
	waiting, aside, err := outcomes(c.Host)
	if err != nil {
		c.report.Errors = append(c.report.Errors, err)
	}
	c.report.Kept = append(c.report.Kept, aside...)
	for n, key := range waiting {
		err := c.commitOutcome(ctx, key)
		if err != nil {
			c.report.Errors = append(c.report.Errors, fmt.Errorf("run %s: %w", key, err))
		}
		if left := len(waiting) - n - 1; left > 0 && c.late(err) {
			c.report.Errors = append(c.report.Errors, fmt.Errorf("%d more wait as well; \"scidex-oci gc\" takes the time to commit them", left))
			return
		}
	}
}

// late reports, after an outcome, whether a command that is about something else leaves the others: what one met they
// would meet too.
func (c *collector) late(err error) bool {
	return !c.hurried.IsZero() && (errors.Is(err, blob.ErrPasses) || !time.Now().Before(c.hurried))
}

// commitOutcome commits one outcome, with the lock of its run, and removes what the run has left.
func (c *collector) commitOutcome(ctx context.Context, key catalog.Key) error {
	t, err := hold(c.Root, key)
	if errors.Is(err, errAlive) {
		return nil // its launcher, or another command that commits it
	}
	if err != nil {
		return err
	}
	run, err := c.commitRecord(ctx, key)
	if err != nil || run.ID == "" {
		return errors.Join(err, t.leave())
	}
	if run.State != catalog.Lost {
		c.report.Committed = append(c.report.Committed, key)
	}
	if c.dry {
		return t.leave()
	}
	return c.sweepEnded(ctx, t, run)
}

// commitRecord returns the run that was committed, or a lost one that is superseded; one without an id where there was
// nothing to commit.
func (c *collector) commitRecord(ctx context.Context, key catalog.Key) (none catalog.Run, err error) {
	path := outcomePath(c.Host, key)
	if !c.dry {
		_ = os.Remove(path + record.Unfinished) // of a launcher that was killed
	}
	var o outcome
	content, err := record.Open(path, &o)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil // another command was faster
	}
	if errors.Is(err, record.ErrDamaged) {
		return none, fmt.Errorf("its result, kept in %q, cannot be read: %w; the run and its directory stay as they are until you remove that file", path, err)
	}
	if err != nil {
		return none, err
	}
	defer content.Close()
	if o.Catalog != c.catalogID {
		return none, nil // of another catalog that shares the root
	}
	if c.dry {
		return o.Run, nil
	}
	if !c.Blobs.Shared() { // from before the look for its blobs until they are committed: a gc of another root has the same store
		release, err := c.Blobs.Hold()
		if err != nil {
			return none, err
		}
		defer func() { _ = release() }()
	}
	if err := c.keepAwaited(ctx, path); err != nil {
		return none, fmt.Errorf("its result, kept in %q, could not be committed now: %w", path, err)
	}
	ctx, begun, done := c.hurry(ctx)
	defer done()
	err = c.Catalog.Commit(ctx, o.Run, func() (outputs.Entry, error) { begun(); return content.Next() })
	if errors.Is(err, catalog.ErrEnded) {
		run, lost := c.Catalog.Get(context.WithoutCancel(ctx), key)
		again, failed := c.superseded(context.WithoutCancel(ctx), run)
		if lost = errors.Join(lost, failed); lost != nil {
			return none, lost
		}
		if again {
			c.Log.Warn("another worker has the analysis; what this one made of it is removed", "run", key.String())
			return run, errors.Join(os.Remove(path), record.SyncDir(filepath.Dir(path)))
		}
		return none, errors.Join(fmt.Errorf("%w: what it was to commit is in %q and stays there", err, path+refused), os.Rename(path, path+refused))
	}
	if err != nil {
		return none, fmt.Errorf("its result, kept in %q, could not be committed now: %w", path, err)
	}
	if err := errors.Join(os.Remove(path), record.SyncDir(filepath.Dir(path))); err != nil {
		return none, err
	}
	return c.Catalog.Get(context.WithoutCancel(ctx), key)
}

// keepAwaited is keepBlobs for the record of an outcome.
func (c *collector) keepAwaited(ctx context.Context, path string) error {
	var o outcome
	content, err := record.Open(path, &o)
	if err != nil {
		return err
	}
	defer content.Close()
	if !c.Blobs.Shared() {
		return c.stillThere(ctx, o.Run, content.Next)
	}
	patience := commitPatience
	if !c.hurried.IsZero() {
		patience = 0
		var cancel context.CancelFunc
		late := fmt.Errorf("the blob store %s did not take all of it within %v; \"scidex-oci gc\" waits longer", c.Blobs, hurriedUpload)
		ctx, cancel = context.WithDeadlineCause(ctx, c.hurried, late)
		defer cancel()
	}
	err = keepBlobs(ctx, c.Host, patience, o.Run, content.Next)
	if errors.Is(err, fs.ErrNotExist) {
		return c.missing(ctx, o.Run, err)
	}
	return err
}

// stillThere looks for what a run names: the gc of another host that has the same directory knows nothing of what waits here. A run that
// has ended otherwise is for Commit to tell.
func (c *collector) stillThere(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	named, err := namedBy(run, next)
	if err != nil {
		return err
	}
	for _, sha256 := range named {
		there, err := c.Blobs.Has(ctx, sha256)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		return c.missing(ctx, run, fmt.Errorf("blob %s, which it names, is not in the blob store %s any more", sha256, c.Blobs))
	}
	return nil
}

// missing says what to do about a blob that is nowhere.
func (c *collector) missing(ctx context.Context, run catalog.Run, what error) error {
	now, err := c.Catalog.Get(ctx, run.Key)
	if err != nil || now.State.Final() {
		return err
	}
	return fmt.Errorf("%w; put the blob back, or remove the record and the run is lost", what)
}

// hurriedUpload is how long a command that is about something else puts blobs of outcomes where they belong, of all together.
const hurriedUpload = 20 * time.Second

// hurriedWait is how long a command that is about something else waits for a catalog that others write to.
const hurriedWait = 5 * time.Second

// hurry bounds the wait for the catalog until begun is called, but not the commit itself.
func (c *collector) hurry(ctx context.Context) (_ context.Context, begun, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	if c.hurried.IsZero() {
		return ctx, func() {}, cancel
	}
	timer := time.AfterFunc(hurriedWait, cancel)
	return ctx, func() { timer.Stop() }, cancel
}

// outcomeDigests calls note for each digest that an outcome names which is not in the catalog. One that cannot be
// read is an error: nobody knows what it names.
func outcomeDigests(host *phase.Host, note func(sha256 string) bool) error {
	waiting, aside, err := outcomes(host)
	if err != nil {
		return err
	}
	for _, key := range waiting {
		aside = append(aside, outcomePath(host, key))
	}
	for _, path := range aside {
		if err := recordDigests(path, note); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("no blob is removed while %q cannot be read, which names some: %w", path, err)
		}
	}
	return nil
}

func recordDigests(path string, note func(sha256 string) bool) error {
	var o outcome
	content, err := record.Open(path, &o)
	if err != nil {
		return err
	}
	defer content.Close()
	for _, sha256 := range o.Run.Blobs {
		note(sha256)
	}
	return content.Each(func(entry outputs.Entry) {
		if entry.Rejected == "" {
			note(entry.SHA256)
		}
	})
}
