// Package lowwater waits until a file system has less left than it had. Somebody has to look again and again (statfs(2) is all
// that tells), and a Go program that wakes for each look wakes three of its threads: twenty looks a second of one run took 8
// thousandths of a core, so that of 500 runs that slept nothing was left to start others. Here a thread sleeps and looks
// without the Go runtime, which wakes when there is something to decide.
package lowwater

/*
#include "lowwater.h"
*/
import "C"

import (
	"os"
	"runtime"
	"time"
)

// Supply is what a file system has free.
type Supply struct{ Bytes, Inodes int64 }

// Mark is how little a file system may have free before a wait is over.
type Mark struct {
	Dir  *os.File // on the file system
	Low  Supply   // as little as this, of either, is reached
	High Supply   // the most that was free: what is free above it raises both
}

// Watch waits, one call of Wait at a time. The zero Watch is ready.
type Watch struct{ c C.struct_watch }

// Wait looks so many times, each after so long from the last look on, and returns early where a mark is reached or its file
// system cannot be read, and when Stop was called. It raises the marks. Marks of one directory follow each other.
func (w *Watch) Wait(each time.Duration, looks int, marks []Mark) {
	list := make([]C.struct_mark, len(marks)+1) // never none, which has no address
	for i, m := range marks {
		list[i] = C.struct_mark{fd: C.int(m.Dir.Fd()), low: m.Low.numbers(), high: m.High.numbers()}
	}
	C.lowwater_wait(&w.c, C.longlong(each.Nanoseconds()), C.long(looks), &list[0], C.int(len(marks)))
	for i := range marks {
		marks[i].Low, marks[i].High = supply(list[i].low), supply(list[i].high)
		runtime.KeepAlive(marks[i].Dir)
	}
}

func (s Supply) numbers() [C.KINDS]C.longlong {
	return [C.KINDS]C.longlong{C.BYTES: C.longlong(s.Bytes), C.INODES: C.longlong(s.Inodes)}
}

func supply(numbers [C.KINDS]C.longlong) Supply {
	return Supply{Bytes: int64(numbers[C.BYTES]), Inodes: int64(numbers[C.INODES])}
}

// Stop ends the wait, and those to come. It can be called from anywhere.
func (w *Watch) Stop() { C.lowwater_stop(&w.c) }
