package protocol

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
	if note := ReadNote(read, 100, 10*time.Millisecond); Ready(note) {
		t.Errorf("the note is %q", note)
	}
}
