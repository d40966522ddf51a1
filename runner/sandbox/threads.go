package sandbox

import (
	"runtime"
	"sync"
)

// spareThreads are more than the launcher and the supervisor are ever seen to block at once beside what they have; one waits in a watchdog.
const spareThreads = 11

// ReserveThreads makes the Go runtime start threads that it then keeps. Where an analysis shares its limit of
// processes with this program, a fork bomb would be the end of it: a runtime that cannot start a thread aborts.
func ReserveThreads() {
	var started, ended sync.WaitGroup
	enough := make(chan struct{})
	started.Add(spareThreads)
	for range spareThreads {
		ended.Go(func() {
			runtime.LockOSThread() // held until all have one, so that each gets its own
			defer runtime.UnlockOSThread()
			started.Done()
			<-enough
		})
	}
	started.Wait()
	close(enough)
	ended.Wait()
}
