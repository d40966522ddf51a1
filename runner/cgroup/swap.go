package cgroup

import "github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"

// Swapping reports whether the host has swap that the group's memory limit does not count: its kernel does no swap
// accounting (CONFIG_MEMCG_SWAP, swapaccount=0).
func (g *Group) Swapping(sys System) bool {
	return !g.files.holdsSwap() && cgroupfs.HostSwaps(sys.withDefaults().Proc)
}

func (g v1) holdsSwap() bool { return cgroupfs.Exists(g.memory, "memory.memsw.limit_in_bytes") }

func (g v2) holdsSwap() bool { return cgroupfs.Exists(g.dir, "memory.swap.max") }
