package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// ready prepares all up to the container at its gate.
func (e *execution) ready(ctx context.Context) (*sandbox.Created, error) {
	made := e.span("make the directories")
	err := e.makeDirectories(ctx)
	made()
	waited := e.span("wait for the supervisor")
	var launchError error
	e.supervisor, launchError = e.launched.Wait(ctx)
	waited()
	if err = errors.Join(launchError, err); err != nil {
		return nil, err
	}
	if slow := e.launched.Slow(); slow != nil {
		e.report.Warnings = append(e.report.Warnings, "runs start slower than they could, with scidex-oci as its own supervisor: "+
			outputs.Escape([]byte(slow.Error()))+"; install both programs of one release")
	}
	if err := e.trace.Do(trace.Run, "set the limits and read them back", e.makeGroup); err != nil {
		return nil, err
	}
	return e.create(ctx)
}

// makeDirectories makes the working and ingest directories and stages into the former.
func (e *execution) makeDirectories(ctx context.Context) (err error) {
	account := e.plan.Account
	if err := workspace.SetAside(ctx, e.Host, e.plan.Key); err != nil {
		return err
	}
	if e.dir, err = workspace.MakeWorkdir(e.place.Dir, account.HostUID(0), account.HostGID(0)); err != nil {
		return err
	}
	e.place.Dev, e.place.Ino = e.dir.Dev, e.dir.Ino
	if err := e.tenure.Record(e.place); err != nil {
		return err
	}
	if e.ingest, err = e.Blobs.NewIngest(e.run.ID); err != nil {
		return err
	}
	for _, name := range workspace.LogNames {
		e.place.Logs = append(e.place.Logs, filepath.Join(e.ingest.Dir().Name(), name))
	}
	if err := e.tenure.Record(e.place); err != nil {
		return err
	}
	if account.Root() {
		if err := e.ingest.Chown(account.HostUID(0), account.HostGID(0)); err != nil {
			return err
		}
	}
	return errors.Join(e.keepScript(), e.stageInputs(ctx))
}

func (e *execution) stageInputs(ctx context.Context) (err error) {
	if e.plan.Stage == nil {
		return nil
	}
	account := e.plan.Account
	owner := &outputs.Owner{UID: account.HostUID(0), GID: account.HostGID(0)}
	e.staged, err = outputs.Stage(ctx, e.plan.Stage, e.dir.Work, owner, e.plan.Bounds())
	if err != nil {
		return err
	}
	for _, entry := range e.staged {
		if entry.Rejected != "" {
			e.report.Warnings = append(e.report.Warnings,
				fmt.Sprintf("not staged: %s (%s)", outputs.Escape(entry.Path), entry.Rejected))
		}
	}
	return nil
}

// makeGroup sets the limits and reads them back.
func (e *execution) makeGroup() error {
	if e.plan.Analysis.Limits == spec.LimitsOuter {
		return nil // read once the container is in its group
	}
	if e.plan.Parent == nil {
		e.report.Enforced = plan.Enforced(e.plan.Analysis, nil)
		return nil
	}
	group, got, err := e.plan.Parent.New(e.groupName, plan.CgroupLimits(e.plan.Analysis, e.plan.Parent))
	if err != nil {
		return err
	}
	e.group = group
	e.report.Enforced = plan.Enforced(e.plan.Analysis, &got)
	if group.Swapping() {
		e.report.Warnings = append(e.report.Warnings, swapWarning)
	}
	return nil
}

// uniqueGroup names the control group of a run: other roots of this host may have a run with the same key, and what a killed
// run left is removed by the recorded names (workspace.Location.Groups).
func uniqueGroup(key catalog.Key) string {
	return key.String() + "-" + strings.ToLower(rand.Text()[:10])
}

func (e *execution) create(ctx context.Context) (*sandbox.Created, error) {
	defer e.span("create the container")()
	if err := e.mendRoot(ctx); err != nil {
		return nil, err
	}
	made := e.span("make the job")
	job, files, err := e.plan.Job(e.dir, e.ingest.Dir(), e.keptScript())
	made()
	if err != nil {
		return nil, err
	}
	defer e.span("send the job, wait for the container")()
	created, err := e.supervisor.Create(job, files.All)
	return created, errors.Join(err, files.CloseMounts())
}
