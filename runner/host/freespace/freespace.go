// Package freespace waits until a file system has less free space. statfs(2) must be polled, and a Go program that wakes
// up for each call wakes three of its threads: twenty calls a second cost a run 0.008 of a core, and 500 sleeping runs
// left no CPU to start others. A C thread sleeps and calls statfs, and returns to Go only when there is something to
// decide.
package freespace

/*
#include "freespace.h"
*/
import "C"

import (
	"os"
	"runtime"
	"time"
)

// Free is the space available to an ordinary user, in bytes, and the free inodes.
type Free struct{ Bytes, Inodes int64 }

// Mark is the free space that ends a wait.
type Mark struct {
	Dir  *os.File // on the file system
	Low  Free     // the wait ends when either is this low
	High Free     // highest free space seen: more raises both
}

// Watch waits, one call of Wait at a time. The zero Watch is ready.
type Watch struct{ c C.struct_watch }

// Wait calls statfs(2) looks times, each interval after the last, and returns early when a mark is reached, its file system
// cannot be read, or Stop is called. It raises the marks. Marks of one directory must be adjacent.
func (w *Watch) Wait(interval time.Duration, looks int, marks []Mark) {
	list := make([]C.struct_mark, len(marks)+1) // never empty: an empty slice has no address
	for i, m := range marks {
		list[i] = C.struct_mark{fd: C.int(m.Dir.Fd()), low: m.Low.numbers(), high: m.High.numbers()}
	}
	C.freespace_wait(&w.c, C.longlong(interval.Nanoseconds()), C.long(looks), &list[0], C.int(len(marks)))
	for i := range marks {
		marks[i].Low, marks[i].High = free(list[i].low), free(list[i].high)
		runtime.KeepAlive(marks[i].Dir)
	}
}

func (f Free) numbers() [C.KINDS]C.longlong {
	return [C.KINDS]C.longlong{C.BYTES: C.longlong(f.Bytes), C.INODES: C.longlong(f.Inodes)}
}

func free(numbers [C.KINDS]C.longlong) Free {
	return Free{Bytes: int64(numbers[C.BYTES]), Inodes: int64(numbers[C.INODES])}
}

// Stop ends the wait and all later ones. It may be called from any goroutine.
func (w *Watch) Stop() { C.freespace_stop(&w.c) }
