package session

import (
	"runtime/debug"
	"time"
)

// restAfter is the time after the last run when the memory that runs needed is given back.
const restAfter = 2 * time.Second

// rest gives memory back to the system, which would keep it for the next run, where none is expected soon.
func (s *Session) rest() {
	if s.Engine.Empty() {
		debug.FreeOSMemory()
	}
}
