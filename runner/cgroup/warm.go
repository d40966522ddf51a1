package cgroup

import (
	"context"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// warmth is how long the kernel surely stays ready after a move: less than the shortest RCU grace period of a busy
// machine.
const warmth = 4 * time.Millisecond

// mostMoves bounds the repetitions, some 0.1 s. A slower start waits for other things.
const mostMoves = 25

// Warm keeps the kernel ready to move a process until ctx ends, for at most mostMoves. A move waits for an RCU grace period,
// some 10 ms, unless another came just before (kernel/rcu/sync.c, cgroup_threadgroup_rwsem). Moving a process of scidex-oci to
// its own group changes nothing and does that wait concurrently. A move that is slow right after another means that others move
// too: they keep the kernel ready, and each move blocks all forks of the host. When 500 concurrent starts each moved until their
// run had its group, that took ten minutes, or never ended.
func (p *Parent) Warm(ctx context.Context) {
	tick := time.NewTicker(warmth)
	defer tick.Stop()
	for move := 0; move < mostMoves && ctx.Err() == nil; move++ {
		began := time.Now()
		if cgroupfs.Write(p.own, "cgroup.procs", strconv.Itoa(p.mover)) != nil || move > 0 && time.Since(began) > warmth {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
