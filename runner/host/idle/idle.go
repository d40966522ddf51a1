// Package idle gives memory back that a process needs only while it works.
package idle

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// delay is how long a process has had no work before it gives memory back. To map pages again takes about a millisecond, which
// shorter runs do not pay.
const delay = 2 * time.Second

// worthwhile is how much of the heap must be free before it is given back, in bytes: the garbage collector itself takes 0.5 MiB
// when it runs for the first time.
const worthwhile = 2 << 20

var (
	mu    sync.Mutex
	timer *time.Timer
)

// Wait says that the process now waits, for example for the end of an analysis. Unless it is called again, memory is given back
// after two seconds: what is free of the heap, and the pages of the program's file. The kernel maps those again that are used
// again.
func Wait() {
	mu.Lock()
	defer mu.Unlock()
	if timer == nil {
		timer = time.AfterFunc(delay, release)
		return
	}
	timer.Reset(delay)
}

// release is best effort: where it fails, the process keeps what it has.
func release() {
	if freeHeap() >= worthwhile {
		debug.FreeOSMemory()
	}
	_ = unmapProgram()
}

// freeHeap returns the bytes of the heap that the process has and does not use.
func freeHeap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapIdle - m.HeapReleased + m.HeapInuse - m.HeapAlloc
}
