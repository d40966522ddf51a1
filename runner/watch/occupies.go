package watch

import (
	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Occupies reports whether a process of this host holds a run, of any root, in the directory that a further attempt at its
// analysis would have here. If that is not visible, as in the root of another user, it does not.
func Occupies(host *phase.Host, run catalog.Run) bool {
	location := workspace.LocationOf(run)
	path := location.State
	if path == "" || location.Dir != workspace.RunDir(host.Tmp, run.ID) {
		return false
	}
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	held, _ := flock.Held(f)
	return held
}
