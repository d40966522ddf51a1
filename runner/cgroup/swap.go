package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Swapping reports whether the host has swap that the group's memory limit does not count: its kernel does no swap
// accounting (CONFIG_MEMCG_SWAP, swapaccount=0).
func (g *Group) Swapping(sys System) bool {
	return !g.files.holdsSwap() && hostSwaps(sys.withDefaults().Proc)
}

func (g v1) holdsSwap() bool { return exists(g.memory, "memory.memsw.limit_in_bytes") }

func (g v2) holdsSwap() bool { return exists(g.dir, "memory.swap.max") }

// exists treats an inaccessible file as missing.
func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// hostSwaps reads proc_swaps(5): a header line, then one per area. An unreadable file counts as swap.
func hostSwaps(proc string) bool {
	text, err := os.ReadFile(filepath.Join(proc, "swaps"))
	if errors.Is(err, fs.ErrNotExist) { // a kernel without swap
		return false
	}
	return err != nil || strings.Count(strings.TrimSpace(string(text)), "\n") > 0
}

// swaps reports whether the groups allow swap to a process that uses memory bytes.
func (o *Outer) swaps(memory int64) bool {
	room, err := o.memory.least(chain.swapRoom)
	if !o.memory.unified {
		room -= float64(memory) // v1 counts both together
	}
	return (err != nil || room > 0) && hostSwaps(o.proc)
}

func (c chain) swapRoom(dir string) (float64, error) {
	if c.unified {
		return readMax(dir, "memory.swap.max")
	}
	limit, err := readInt(dir, "memory.memsw.limit_in_bytes")
	if err != nil {
		return 0, err
	}
	if all, err := readKey(dir, "memory.stat", "hierarchical_memsw_limit"); err == nil {
		limit = min(limit, all)
	}
	return finite(limit), nil
}
