package workspace

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/host/clock"
)

// Location is where a run lives on its host: what gc needs to find and remove what a killed run left.
type Location struct {
	// Machine identifies it among those with the host's name; empty if unknown.
	Machine string `json:"machine,omitempty"`
	// Dir is the run's directory, <tmp>/scidex-analysis-<id>; Dev and Ino are 0 until it exists.
	Dir string `json:"dir"`
	// State is the run's state file, below the root that it was started with.
	State string `json:"state,omitempty"`
	// Catalog is the catalog that has the run.
	Catalog string `json:"catalog,omitempty"`
	// Blobs is the URL of the blob store that has the run's blobs, without credentials.
	Blobs string `json:"blobs,omitempty"`
	Dev   uint64 `json:"dev,omitempty"`
	Ino   uint64 `json:"ino,omitempty"`
	// Groups are the directories of the control group.
	Groups []string `json:"groups,omitempty"`
	// Ended is true once the analysis has ended: then Dir has its result.
	Ended bool `json:"ended,omitempty"`
	// Rescues is how many harvests gc has started after the launcher was killed.
	Rescues int `json:"rescues,omitempty"`
	// Promised is true if the user was informed that Dir stays, because the result could be neither committed nor kept.
	Promised bool `json:"-"`
	// Launcher is the process that holds the run.
	Launcher *Launcher `json:"launcher,omitempty"`
	// Began is how long the Launcher's machine had been up when it began the run (clock.Boot).
	Began time.Duration `json:"began,omitempty"`
	// Logs are the files in which standard output and standard error grow until they become blobs. Each appears with its
	// first byte.
	Logs []string `json:"logs,omitempty"`
}

// Age is how long ago a run began. If the host was not booted since, the boot clock says it, which nobody can set; else the date does.
func Age(run catalog.Run) time.Duration {
	if l := LocationOf(run); l.Launcher != nil && l.Began > 0 && l.Launcher.BootID == BootID() {
		return max(0, clock.Boot()-l.Began)
	}
	return max(0, time.Since(run.CreatedAt))
}
