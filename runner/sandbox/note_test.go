package sandbox

import (
	"os"
	"testing"
	"time"
)

// TestReadNoteInTime: a note that does not end is late.
func TestReadNoteInTime(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	if _, err := write.WriteString("ready\n"); err != nil {
		t.Fatal(err)
	}
	if note, hooked := ReadNote(read, 100, 10*time.Millisecond); Ready(note) || hooked {
		t.Errorf("the note is %q, %v", note, hooked)
	}
}

// TestReadNoteHooked: the hook says first that it is executed.
func TestReadNoteHooked(t *testing.T) {
	for text, want := range map[string]struct {
		note   string
		hooked bool
	}{
		"hook\x00ready\x00": {"ready", true},
		"hook\x00cold\nwhy": {"cold\nwhy", true},
		"hook\x00":          {"", true},
		"hook\x00hook\x00":  {"hook", true},
		"hook":              {"hook", false},
		"ready\x00":         {"ready", false},
		"ready\x00hook\x00": {"ready", false},
		"\x00hook\x00ready": {"", false},
		"":                  {"", false},
	} {
		if note, hooked := ReadNote(said(t, text), 100, time.Minute); note != want.note || hooked != want.hooked {
			t.Errorf("%q: %q, %v", text, note, hooked)
		}
	}
}

// said is the read end of a pipe with a text.
func said(t *testing.T, text string) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	defer write.Close()
	if _, err := write.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return read
}
