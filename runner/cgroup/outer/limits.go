package outer

import (
	"errors"
	"io/fs"
	"math"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// Held is the limits of the groups around a process: the smallest visible ones.
type Held struct {
	cgroup.Limits // 0: no limit
	// Why says, for "memory", "cpus" and "pids", why nothing could be read.
	Why map[string]error
	// Swapping says that the host has swap that the memory limit does not count.
	Swapping bool
	// CPUSet says that CPUs is the size of the CPU set, which is smaller than any quota.
	CPUSet bool
}

// Held reads the limits.
func (o *Groups) Held() Held {
	h := Held{Why: map[string]error{}}
	least := func(limit string, c chain, read func(chain, string) (float64, error)) float64 {
		value, err := c.least(read)
		if err != nil {
			h.Why[limit] = err
		}
		if math.IsInf(value, 1) {
			return 0
		}
		return value
	}
	h.Memory = int64(least("memory", o.memory, chain.memoryLimit))
	h.Pids = int64(least("pids", o.pids, chain.pidsLimit))
	h.CPUs = least("cpus", o.cpu, chain.quota)
	if set := o.cpuSet(); set > 0 && (h.CPUs == 0 || float64(set) < h.CPUs) {
		h.CPUs, h.CPUSet = float64(set), true
		delete(h.Why, "cpus")
	}
	h.Swapping = h.Memory > 0 && o.swaps(h.Memory)
	return h
}

// least is the smallest limit of a chain, infinite if there is none. A limit that was read counts, even if others could
// not be read.
func (c chain) least(read func(chain, string) (float64, error)) (float64, error) {
	found, failed := math.Inf(1), c.err
	for _, dir := range c.Dirs {
		value, err := read(c, dir)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the root group, or a controller that is not delegated
		case err != nil:
			failed = errors.Join(failed, err)
		case value < found:
			found = value
		}
	}
	if math.IsInf(found, 1) {
		return found, failed
	}
	return found, nil
}

// unlimitedV1 is far above any machine's memory; the kernel reports the greatest number of whole pages.
const unlimitedV1 = 1 << 62

func (c chain) memoryLimit(dir string) (float64, error) {
	if c.Unified {
		return cgroupfs.MaxOrInf(dir, "memory.max")
	}
	limit, err := cgroupfs.Int(dir, "memory.limit_in_bytes")
	if err != nil {
		return 0, err
	}
	// The limit of all groups above, visible or not (cgroup-v1/memory.rst, "stat file").
	if all, err := cgroupfs.Key(dir, "memory.stat", "hierarchical_memory_limit"); err == nil {
		limit = min(limit, all)
	}
	return finite(limit), nil
}

func (c chain) pidsLimit(dir string) (float64, error) { return cgroupfs.MaxOrInf(dir, "pids.max") }

func (c chain) quota(dir string) (float64, error) {
	cpus, err := 0.0, error(nil)
	if c.Unified {
		cpus, err = cgroupfs.QuotaV2(dir)
	} else {
		cpus, err = cgroupfs.QuotaV1(dir)
	}
	if cpus == 0 {
		cpus = math.Inf(1)
	}
	return cpus, err
}

func finite(limit int64) float64 {
	if limit >= unlimitedV1 {
		return math.Inf(1)
	}
	return float64(limit)
}
