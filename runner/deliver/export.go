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
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// resultFile is the name of the result among exported outputs.
const resultFile = "scidex-result.json"

// Export writes the outputs of a run and scidex-result.json into dir as the caller's files; an output with this name, or
// below it, is left out and stays in the blob store. It refuses a directory that is not empty unless overwrite. Every blob
// is verified while it is read.
func Export(ctx context.Context, host *phase.Host, run catalog.Run, dir string, overwrite bool) (err error) {
	if err := OutputsRemoved(run); err != nil {
		return err
	}
	target, err := outputs.OpenTarget(dir, overwrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	var failed error
	err = host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		// An analysis may have made a file or directory of that name, which is reserved for the result.
		if name, _, _ := bytes.Cut(e.Path, []byte("/")); e.Rejected == "" && string(name) != resultFile {
			failed = exportOne(ctx, host, target, e)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("export to %q: %w", dir, err)
	}
	res, err := watch.Show(ctx, host, run)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	if err := target.Put([]byte(resultFile), 0o644, bytes.NewReader(append(raw, '\n'))); err != nil {
		return fmt.Errorf("export to %q: %w", dir, err)
	}
	return nil
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
