// Package threads keeps spare threads for the Go runtime.
package threads

import (
	"runtime"
	"sync"
)

// spareThreads exceeds the threads that launcher and supervisor were ever seen to block in addition to those they have; one is a
// watchdog's.
const spareThreads = 11

// Reserve makes the Go runtime start threads that it keeps. If an analysis shares this program's process limit,
// a fork bomb would end it: the runtime aborts if it cannot start a thread.
func Reserve() {
	var started, ended sync.WaitGroup
	enough := make(chan struct{})
	started.Add(spareThreads)
	for range spareThreads {
		ended.Go(func() {
			runtime.LockOSThread() // held until all have one, so that each is another
			defer runtime.UnlockOSThread()
			started.Done()
			<-enough
		})
	}
	started.Wait()
	close(enough)
	ended.Wait()
}
