package result

// Start says how the analysis of a run that waited for its turn was started.
type Start struct {
	// Kind is StartCold or StartReady, and in results of earlier versions "forked": from a process that had imported the modules, into
	// its own container.
	Kind string `json:"kind"`
	// Reason says why the start was cold.
	Reason string `json:"reason,omitempty"`
	// Modules are the packages that were imported before, with their versions; empty if a package has none.
	Modules map[string]string `json:"modules,omitempty"`
	// SharedBytes is in results of earlier versions: the memory that a forked analysis began with and shared with others. Its own
	// usage is counted without it.
	SharedBytes int64 `json:"shared_bytes,omitempty"`
}

// The kinds of a start.
const (
	StartCold  = "cold"  // as a run that does not wait
	StartReady = "ready" // its modules were imported in its own container
)
