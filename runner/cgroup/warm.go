package cgroup

import (
	"strconv"
	"sync"
	"time"
)

// warmth is how long the kernel is sure to stay ready after a move: less than the shortest RCU grace
// period of a busy machine.
const warmth = 4 * time.Millisecond

// turns is how often it is made ready at most, some 0.1 s. A start that takes longer has other things to wait for.
const turns = 25

// Warm keeps the kernel ready to move a process for a while, or until stop is called, once or more. A move waits for an RCU grace
// period, some 10 ms, unless another one came just before (kernel/rcu/sync.c, cgroup_threadgroup_rwsem):
// moving a process of ours to where it is changes nothing and does that waiting beside the other work. Where a move takes long though
// another one came before, others move, too: they keep the kernel ready, and all forks of the host wait for each move. 500 starts at
// once that each moved on until their run had its group had it after ten minutes, or not at all.
func (p *Parent) Warm() (stop func()) {
	stop, _ = p.warm()
	return stop
}

func (p *Parent) warm() (stop func(), ended <-chan struct{}) {
	done, end := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(end)
		tick := time.NewTicker(warmth)
		defer tick.Stop()
		for turn := range turns {
			began := time.Now()
			if write(p.own, "cgroup.procs", strconv.Itoa(p.mover)) != nil || turn > 0 && time.Since(began) > warmth {
				return
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) }), end
}
