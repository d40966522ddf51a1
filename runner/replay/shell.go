package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// ShellLabel is the label of a run that is a shell: "ID@ATTEMPT" of the run that it resembles.
const ShellLabel = "shell-of"

// shellTimeout is how long a shell may stay open.
const shellTimeout = 24 * time.Hour

// shellCommand starts the better of the shells that a root filesystem has.
var shellCommand = []string{"/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -i; else exec sh -i; fi"}

// ShellOptions says how to open a shell.
type ShellOptions struct {
	// Run runs one analysis: that of a runner.Runner.
	Run      func(context.Context, request.Request) (result.Result, error)
	Terminal *os.File
	Stop     <-chan request.StopSignal
	// Begin is called before the shell starts, with the command of the run and a word for what /work has.
	Begin func(command []string, files string) error
}

// Shell runs a shell in a sandbox like that of a run: the same inputs, root filesystem, environment and limits, with a copy
// of the directory that the run kept, or of its outputs. The shell is a run of its own, which is removed at its end, with
// all that it wrote.
func Shell(ctx context.Context, host *phase.Host, run catalog.Run, how ShellOptions) (res result.Result, err error) {
	recorded, err := result.New(run)
	if err != nil {
		return res, err
	}
	a, err := shellAnalysis(run)
	if err != nil {
		return res, err
	}
	files, done, err := stageFiles(ctx, host, run, recorded.Kept)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, done()) }()
	a.Stage = files.dir
	res, err = how.Run(ctx, request.Request{
		Analysis: a, Replay: run.Key, Command: shellCommand, Terminal: how.Terminal, Stop: how.Stop,
		Switches: request.Switches{NoAudit: recorded.Sandbox.Audit == "off"},
		Admit:    func(context.Context) error { return how.Begin(commandLine(a, recorded.Script), files.what) },
	})
	if res.ID == "" || res.Attempt == 0 {
		return res, err
	}
	return res, errors.Join(err, recovery.Remove(ctx, host, res.Key()))
}

// shellAnalysis is the recorded request; nothing is to be kept of it.
func shellAnalysis(run catalog.Run) (a spec.Analysis, err error) {
	if err := json.Unmarshal(run.Request, &a); err != nil {
		return a, fmt.Errorf("read the recorded request: %w", err)
	}
	a.ID, a.Export, a.Keep, a.Outputs, a.Exclude = "", "", spec.KeepNever, nil, []string{"**"}
	a.Timeout = spec.Duration(shellTimeout)
	a.Labels = map[string]string{ShellLabel: run.String()}
	return a, nil
}

// commandLine is what a run ran, as it is typed inside.
func commandLine(a spec.Analysis, script *result.Script) []string {
	if script != nil {
		return append([]string{script.Name}, a.Args...)
	}
	return a.Command
}

// staged is a directory whose files are copied to /work.
type staged struct{ dir, what string }

// stageFiles finds the files that a run left; done removes what it had to copy.
func stageFiles(ctx context.Context, host *phase.Host, run catalog.Run, kept string) (s staged, done func() error, err error) {
	if kept != "" && workspace.Exists(kept) {
		return staged{kept, "a copy of its working directory"}, func() error { return nil }, nil
	}
	dir, err := lockdir.MakeContent()
	if err != nil {
		return s, nil, err
	}
	done = func() error { return errors.Join(os.RemoveAll(dir.Name()), dir.Close()) }
	files := filepath.Join(dir.Name(), "files")
	left, err := deliver.ExportTo(ctx, host, run, files, false)
	if err != nil {
		return s, nil, errors.Join(err, done())
	}
	if warning := left.Warning(); warning != "" {
		host.Log.Warn(warning)
	}
	return staged{files, "a copy of its outputs"}, done, nil
}
