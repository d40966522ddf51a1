package protocol

import "time"

// A note is what a command that was started ahead says (Job.Ahead): NoteReady in its first line, and then what it has
// imported; anything else where it is of no use. A NUL ends it. It comes from a process of the container.
const (
	NoteReady = "ready"
	// LongestAhead is how long a command of a run may take to be ready, far more than imports need.
	LongestAhead = time.Minute
	// NoteLate is the note of a command that did not become ready within Job.AheadWithin.
	NoteLate = "cold\nthe imports took longer than a minute"
	// NoteMax is how much of a note is read, in bytes.
	NoteMax = 64 << 10
)
