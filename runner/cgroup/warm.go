package cgroup

import (
	"strconv"
	"sync"
	"time"
)

// warmth is how long the kernel is sure to stay ready after a move: less than the shortest RCU grace
// period of a busy machine.
const warmth = 4 * time.Millisecond

// Warm keeps the kernel ready to move a process until stop is called, once or more. A move waits for an RCU grace
// period, some 10 ms, unless another one came just before (kernel/rcu/sync.c, cgroup_threadgroup_rwsem):
// moving a process of ours to where it is changes nothing and does that waiting beside the other work.
func (p *Parent) Warm() (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(warmth)
		defer tick.Stop()
		for write(p.own, "cgroup.procs", strconv.Itoa(p.mover)) == nil {
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}
