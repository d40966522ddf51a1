package workspace

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Bytes of the state file, far behind its end, whose record lock identifies the sender of SIGTERM. The kernel drops the lock
// with `stop`: there is nothing to clean.
const (
	StopSign    = 1 << 40
	StopNowSign = StopSign + 1

	// One of these, at random, identifies each of several senders.
	FirstAsker = 1 << 41
	Askers     = 1 << 60
)

// Attribute names `stop` as the sender of a SIGTERM if it was, and sets Now.
func (t *StateFile) Attribute(s request.StopSignal) request.StopSignal {
	if s.Name != "SIGTERM" {
		return s
	}
	s.Now = t.hasSign(StopNowSign)
	if s.Now || t.hasSign(StopSign) {
		s.Name = "scidex-oci stop"
	}
	return s
}

func (t *StateFile) hasSign(sign int64) bool {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: sign, Len: 1}
	err := unix.FcntlFlock(t.File.Fd(), unix.F_OFD_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK
}

// Locked returns the bytes in a range of a file that others have locked. The kernel reports any one of them.
func Locked(f *os.File, from, to int64) []int64 {
	if from >= to {
		return nil
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: from, Len: to - from}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK || lock.Start < from || lock.Start >= to {
		return nil
	}
	return slices.Concat(Locked(f, from, lock.Start), []int64{lock.Start}, Locked(f, lock.Start+1, to))
}
