package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// ExportTo is Export to a directory at a path. It refuses one that is not empty unless overwrite.
func ExportTo(ctx context.Context, host *phase.Host, run catalog.Run, dir string, overwrite bool) (err error) {
	target, err := outputs.OpenTarget(dir, overwrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if err := Export(ctx, host, run, target); err != nil {
		return fmt.Errorf("export to %q: %w", dir, err)
	}
	return nil
}

// Export writes the outputs of a run and its result into a directory as the caller's files, and its statement, if any; an output with
// the name of one of these, or below it, is left out and stays in the blob store. Every blob is verified while it is read.
func Export(ctx context.Context, host *phase.Host, run catalog.Run, target *outputs.Target) (err error) {
	if err := OutputsRemoved(run); err != nil {
		return err
	}
	report, err := result.ReportOf(run)
	if err != nil {
		return err
	}
	var failed error
	err = host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && !reserved(e.Path, report.Statement) {
			failed = exportOne(ctx, host, target, e)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return exportResult(ctx, host, target, run, report.Statement)
}

// reserved reports whether an output has the name of a file of ours, or lies below it: an analysis may have made a file or
// directory of that name.
func reserved(path []byte, signed *result.Statement) bool {
	name, _, _ := bytes.Cut(path, []byte("/"))
	return string(name) == result.File || signed != nil && string(name) == result.StatementFile
}

// exportResult writes the result: of a signed run as it was signed, after the statement.
func exportResult(ctx context.Context, host *phase.Host, target *outputs.Target, run catalog.Run, signed *result.Statement) error {
	if signed != nil {
		return errors.Join(
			exportBlob(ctx, host, target, result.StatementFile, signed.SHA256),
			exportBlob(ctx, host, target, result.File, signed.ResultSHA256))
	}
	res, err := watch.Show(ctx, host, run)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	return target.Put([]byte(result.File), 0o644, bytes.NewReader(append(raw, '\n')))
}

func exportBlob(ctx context.Context, host *phase.Host, target *outputs.Target, name, sha256 string) error {
	return exportOne(ctx, host, target, outputs.Entry{Path: []byte(name), Mode: 0o644, SHA256: sha256})
}

func exportOne(ctx context.Context, host *phase.Host, target *outputs.Target, e outputs.Entry) (err error) {
	content, err := host.Blobs.Open(ctx, e.SHA256)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return target.Put(e.Path, fs.FileMode(e.Mode), content)
}

// OutputsRemoved returns an error with the time if retention removed the contents of a run's outputs, or nil.
func OutputsRemoved(run catalog.Run) error {
	if run.OutputsRemovedAt.IsZero() {
		return nil
	}
	return fmt.Errorf("the contents of the outputs of run \"%s\" were removed by retention (gc --outputs-only) at %s; "+
		"their names and digests are in \"scidex-oci outputs ls %s\"",
		run.Key, run.OutputsRemovedAt.Format(time.RFC3339), run.Key)
}
