package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/host/clock"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Workspace is what a run holds on this host, from its intent row to its removal.
type Workspace struct {
	Host     *phase.Host
	ledger   phase.Ledger
	Account  idmap.Account
	Limits   *limits.Limits
	Run      catalog.Run // the intent row
	State    *StateFile
	Location Location

	Dir        *Workdir        // nil: not made
	Ingest     *cas.Ingest     // nil: not made, or closed
	Supervisor sandbox.Session // nil: not started

	began time.Time      // CreatedAt of Run, with its monotonic clock
	noted sync.WaitGroup // see NoteStart
}

// Intent is a run that is about to begin.
type Intent struct {
	Key      catalog.Key
	Analysis spec.Analysis
	Account  idmap.Account
	Limits   *limits.Limits
}

// Begin takes the run's lock and writes the intent row, the first trace of the run. On an error nothing is left.
func Begin(ctx context.Context, host *phase.Host, ledger phase.Ledger, in Intent) (*Workspace, error) {
	state, err := LockWait(host.Root, in.Key)
	if errors.Is(err, ErrLocked) {
		err = request.Taken(in.Key.ID)
	}
	if err != nil {
		return nil, err
	}
	w := &Workspace{Host: host, ledger: ledger, Account: in.Account, Limits: in.Limits, State: state, began: time.Now()}
	if err := w.begin(ctx, in); err != nil {
		return nil, errors.Join(err, state.Remove())
	}
	return w, nil
}

func (w *Workspace) begin(ctx context.Context, in Intent) (err error) {
	if err := w.locate(ctx, in); err != nil {
		return err
	}
	if w.Run, err = w.row(in); err != nil {
		return err
	}
	if err := w.State.Record(w.Location); err != nil {
		return err
	}
	switch err := w.ledger.Create(ctx, w.Run); {
	case errors.Is(err, catalog.ErrExists):
		return request.Taken(in.Key.ID)
	case err != nil:
		return &request.CatalogError{Err: err}
	}
	return nil
}

// locate decides where all of the run will be.
func (w *Workspace) locate(ctx context.Context, in Intent) (err error) {
	w.Location = Location{Machine: MachineID(), Dir: RunDir(w.Host.Tmp, in.Key.ID), State: w.State.Path, Blobs: w.Host.Blobs.URL(), Began: clock.Boot()}
	if w.Location.Catalog, err = w.ledger.CatalogID(ctx); err != nil {
		return &request.CatalogError{Err: err}
	}
	if w.Location.Launcher, err = ThisLauncher(); err != nil {
		return err
	}
	w.Location.Groups = in.Limits.Name(uniqueGroup(in.Key))
	return nil
}

// uniqueGroup names the control group of a run: other roots of this host may have a run with the same key, and what a killed
// run left is removed by the recorded names (Location.Groups).
func uniqueGroup(key catalog.Key) string {
	return key.String() + "-" + strings.ToLower(rand.Text()[:10])
}

// row makes the intent row.
func (w *Workspace) row(in Intent) (catalog.Run, error) {
	host, err := os.Hostname()
	if err != nil {
		return catalog.Run{}, err
	}
	analysis, err := json.Marshal(in.Analysis)
	if err != nil {
		return catalog.Run{}, err
	}
	location, err := json.Marshal(w.Location)
	if err != nil {
		return catalog.Run{}, err
	}
	return catalog.Run{
		Key: in.Key, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: w.began.UTC(),
		Labels: in.Analysis.Labels, Request: analysis, Place: location,
		Host: host, BootID: BootID(), ToolVersion: w.Host.Version,
	}, nil
}

// Date is the date of a moment of this process, by the clock as it was when the run was created: it may be set in between.
func (w *Workspace) Date(at time.Time) time.Time { return clock.After(w.began, at).UTC() }

// NoteStart begins to record in the row when the analysis started, and the Location, so that gc may remove the directory if the
// state file is damaged. Only the commit waits for it, by WaitNoted.
func (w *Workspace) NoteStart(ctx context.Context, at time.Time) {
	location, err := json.Marshal(w.Location)
	if err != nil {
		w.Warn(err)
		return
	}
	run := catalog.Run{Key: w.Run.Key, Outcome: outcome.Outcome{State: outcome.Running}, StartedAt: at, Place: location}
	w.noted.Go(func() {
		defer trace.From(ctx).Span(trace.Catalog, "note the location in the row")()
		w.Warn(w.ledger.Update(ctx, run))
	})
}

// WaitNoted waits for NoteStart.
func (w *Workspace) WaitNoted() { w.noted.Wait() }

// NoteEnd records that the analysis has ended, and how.
func (w *Workspace) NoteEnd(ended phase.Ended) error {
	if !ended.InMemory() { // what is in memory does not outlive us
		w.Warn(KeepExitRecord(w.State.Path, ended)) // without it gc keeps the directory and does not harvest it
		w.Location.Ended = true
	}
	return w.State.Record(w.Location)
}

// Warn logs an error that changes nothing about the run.
func (w *Workspace) Warn(err error) {
	if err != nil {
		w.Host.Log.Warn("run "+w.Run.ID, "error", err)
	}
}
