package recovery

import (
	"errors"
	"io/fs"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// ofAnotherRoot reports whether a run is of another root, whose lock says whether it is alive.
func ofAnotherRoot(root string, run catalog.Run) bool {
	recorded := workspace.LocationOf(run).State
	return recorded != "" && recorded != workspace.StatePath(root, run.Key)
}

// ofNamesake reports whether a run is of another machine with the same name and root path, as two named "localhost" may be.
// A container may get a new machine-id at each start; then the root that it kept has the run's state file.
func ofNamesake(root string, run catalog.Run) (bool, error) {
	recorded, current := workspace.LocationOf(run).Machine, workspace.MachineID()
	if recorded == "" || current == "" || recorded == current {
		return false, nil
	}
	_, err := os.Lstat(workspace.StatePath(root, run.Key))
	return errors.Is(err, fs.ErrNotExist), workspace.Ignore(err, fs.ErrNotExist)
}
