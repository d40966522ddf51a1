package result

// Series is the usage of a run over time, for plots: one row of four columns for each point. A point covers the time since
// the one before it: its maximum memory and processes, and the CPU time used up to its end. The first point is the first
// sample, the last is the end; a run has at most 241, however long it is.
type Series struct {
	// Source is "cgroup" for kernel counters, or "processes" without a control group: then memory is the sum of the resident
	// memory of the processes, with shared pages in each.
	Source      string  `json:"source"`
	TMS         []int64 `json:"t_ms"` // since the start
	MemoryBytes []int64 `json:"memory_bytes"`
	CPUMS       []int64 `json:"cpu_ms"`
	Pids        []int64 `json:"pids"` // processes and threads
}

// Values of Series.Source.
const (
	FromCgroup    = "cgroup"
	FromProcesses = "processes"
)
