package workspace

import (
	"github.com/scidex-ai/scidex-oci/internal/flock"
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
	locked, _ := flock.Locked(t.File, sign, sign+1)
	return len(locked) > 0
}
