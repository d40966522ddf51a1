package stores

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/inodes"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// checkTrusted refuses root a place for its own files in which another user could exchange them.
func checkTrusted(t options.Text, path string) error {
	err := userdir.CheckTrusted(path)
	switch {
	case err == nil:
		return nil
	case t.Given:
		return t.Refuse("%w", err)
	}
	return fmt.Errorf("%w, and name it with --root DIR", err)
}

// makeTrusted makes a directory that checkTrusted had nothing against. Another user may have made it in a sticky directory since.
func makeTrusted(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return CannotMake(dir, err)
	}
	if err := userdir.CheckTrusted(dir); err != nil {
		return &request.Error{Err: err}
	}
	return nil
}

// CannotMake is the error of making one of scidex-oci's own directories, with the way out.
func CannotMake(dir string, err error) error {
	if errors.Is(err, unix.ENOSPC) && inodes.UsedUp(dir) {
		return fmt.Errorf("directory %q cannot be made: %s", dir, inodes.Advice)
	}
	return fmt.Errorf("directory %q cannot be made: %w; give another place with --root DIR", dir, userdir.Plain(err))
}
