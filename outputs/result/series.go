package result

// Series is the use of a run over its time, for plots: one row of four columns for each point. A point tells
// of the time since the one before it: the greatest memory and the most processes of it, and the CPU time
// used up to its end. The first point is the first sample, the last is the end; a run has 241 at most,
// however long it is.
type Series struct {
	// Source is "cgroup" for the kernel's own figures, or "processes" where no control group counted: then
	// memory is the sum of what the processes have resident, shared pages in each of them.
	Source      string  `json:"source"`
	TMS         []int64 `json:"t_ms"` // since the start
	MemoryBytes []int64 `json:"memory_bytes"`
	CPUMS       []int64 `json:"cpu_ms"`
	Pids        []int64 `json:"pids"` // processes and threads
}

// The words of Series.Source.
const (
	FromCgroup    = "cgroup"
	FromProcesses = "processes"
)
