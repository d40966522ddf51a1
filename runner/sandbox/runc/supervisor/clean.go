package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// clean empties a working directory or gives it to root: the caller, if an ordinary user; a root launcher then takes over
// the files. A second file is the ingest directory that it was harvested into.
func (r *run) clean(ctx context.Context, keep bool, files []*os.File) error {
	defer protocol.Discard(files)
	if len(files) != 1 && len(files) != 2 {
		return fmt.Errorf("clean came with %d descriptors", len(files))
	}
	act := outputs.Empty
	var lost []outputs.Entry
	if keep {
		ingest := append(files, nil)[1]
		act = func(ctx context.Context, dir *os.File) error { return ownByRoot(ctx, dir, ingest) }
		var err error
		if lost, err = r.work.keepOnDisk(ctx, files[0]); err != nil {
			return err
		}
	}
	if err := r.launcher.trace.Do(trace.Supervisor, "clean", func() error { return act(ctx, files[0]) }); err != nil {
		return fmt.Errorf("clean the working directory: %w", err)
	}
	return r.launcher.reply(protocol.Message{Type: protocol.MsgCleaned, Entries: lost[:min(len(lost), batchSize)]})
}

// ownByRoot gives a directory and its contents to root, whatever modes the analysis set.
func ownByRoot(ctx context.Context, dir, ingest *os.File) error {
	return errors.Join(outputs.Own(ctx, dir, 0, 0, ingest), dir.Chown(0, 0), dir.Chmod(0o700))
}
