package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// begin takes the run's lock and writes the intent row, the first trace of the run.
func (e *execution) begin(ctx context.Context) (err error) {
	if e.tenure, err = workspace.LockWait(e.Root, e.plan.Key); err != nil {
		if errors.Is(err, workspace.ErrLocked) {
			err = &request.Error{Err: fmt.Errorf("id %s was taken by another run at the same moment; try again or choose another", e.plan.Key.ID)}
		}
		return err
	}
	e.place = workspace.Location{Machine: workspace.MachineID(), Dir: workspace.RunDir(e.Tmp, e.plan.Key.ID), State: e.tenure.Path, Blobs: e.Blobs.URL()}
	if e.place.Catalog, err = e.Catalog.CatalogID(ctx); err != nil {
		return errors.Join(&request.CatalogError{Err: err}, e.tenure.Remove())
	}
	if e.place.Launcher, err = workspace.ThisLauncher(); err != nil {
		return errors.Join(err, e.tenure.Remove())
	}
	if e.plan.Parent != nil {
		e.groupName = uniqueGroup(e.plan.Key)
		e.place.Groups = e.plan.Parent.Plan(e.groupName)
	}
	e.run, err = e.newRun()
	if err == nil {
		err = e.tenure.Record(e.place)
	}
	if err == nil {
		err = e.insert(ctx)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, e.tenure.Remove())
}

// insert makes the row of the run.
func (e *execution) insert(ctx context.Context) error {
	switch err := e.Catalog.Create(ctx, e.run); {
	case errors.Is(err, catalog.ErrExists):
		return &request.Error{Err: fmt.Errorf("id %s was taken by another run at the same moment; choose another", e.plan.Key.ID)}
	case err != nil:
		return &request.CatalogError{Err: err}
	}
	return nil
}

func (e *execution) newRun() (catalog.Run, error) {
	host, err := os.Hostname()
	if err != nil {
		return catalog.Run{}, err
	}
	raw, err := json.Marshal(e.plan.Analysis)
	if err != nil {
		return catalog.Run{}, err
	}
	place, err := json.Marshal(e.place)
	if err != nil {
		return catalog.Run{}, err
	}
	e.report.Enforced = []result.Enforcement{} // until the limits are set
	e.report.Warnings = append(plan.InheritedWarnings(), e.plan.Warnings...)
	if e.request.Detached {
		e.report.Warnings = append(e.report.Warnings, plan.LogoutWarnings(e.place.Groups)...)
	}
	e.report.Sandbox = e.plan.Sandbox()
	return catalog.Run{
		Key: e.plan.Key, State: catalog.Running, CreatedAt: time.Now().UTC(),
		Labels: e.plan.Analysis.Labels, Request: raw, Place: place,
		Host: host, BootID: workspace.BootID(), ToolVersion: e.Version,
	}, nil
}
