package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// SweepViews removes the copies that killed launchers left for hooks, and returns what it removed, or, dry, would.
func SweepViews(ctx context.Context, root string, dry bool) (removed []string, err error) {
	removed, err = lockdir.Sweep(viewsDir(root), "", dry, func(path string) (err error) {
		dir, err := os.OpenFile(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		return errors.Join(outputs.Empty(ctx, dir), dir.Close())
	})
	if err != nil {
		err = fmt.Errorf("copies for post-process commands: %w", err)
	}
	return removed, err
}
