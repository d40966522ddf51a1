package outer

import "github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"

// swaps reports whether the groups allow swap to a process that uses memory bytes.
func (o *Groups) swaps(memory int64) bool {
	left, err := o.memory.least(chain.swapLimit)
	if !o.memory.Unified {
		left -= float64(memory) // v1 counts both together
	}
	return (err != nil || left > 0) && cgroupfs.HostSwaps(o.proc)
}

func (c chain) swapLimit(dir string) (float64, error) {
	if c.Unified {
		return cgroupfs.MaxOrInf(dir, "memory.swap.max")
	}
	limit, err := cgroupfs.Int(dir, "memory.memsw.limit_in_bytes")
	if err != nil {
		return 0, err
	}
	if all, err := cgroupfs.Key(dir, "memory.stat", "hierarchical_memsw_limit"); err == nil {
		limit = min(limit, all)
	}
	return finite(limit), nil
}
