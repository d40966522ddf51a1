package sandbox

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"time"
)

// A note is what a command that was started ahead says (Job.Ahead): NoteReady in its first line, and then what it has
// imported; anything else if it is of no use. A NUL ends it. It comes from a process of the container.
const (
	NoteReady = "ready"
	// noteHook comes before the note, with a NUL of its own: nothing of the script was executed, and what comes decides whether it will be.
	noteHook = "hook"
	// LongestAhead is how long a command of a run may take to be ready, far more than imports need.
	LongestAhead = time.Minute
	// NoteLate is the note of a command that did not become ready within Job.AheadWithin.
	NoteLate = "cold\nthe imports took longer than a minute"
	// NoteMax is how much of a note is read, in bytes.
	NoteMax = 64 << 10
)

// ReadNote reads a note of at most so many bytes, up to a NUL, since a process that the command has left may hold the pipe; nothing
// if the command has died. hooked reports whether the hook is executed: otherwise an interpreter may have gone on to the script.
func ReadNote(from *os.File, most int64, within time.Duration) (note string, hooked bool) {
	_ = from.SetReadDeadline(time.Now().Add(within)) // a pipe can always have one
	text := bufio.NewReader(io.LimitReader(from, most))
	note, err := text.ReadString(0)
	if hooked = note == noteHook+"\x00"; hooked {
		note, err = text.ReadString(0)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return NoteLate, hooked
	}
	return strings.TrimSuffix(note, "\x00"), hooked
}

// Ready reports whether a note is one of a command that is ready.
func Ready(note string) bool {
	first, _, _ := strings.Cut(note, "\n")
	return first == NoteReady
}

// Cold is the note of a command that has to be started anew.
func Cold(why string) string { return "cold\n" + why }
