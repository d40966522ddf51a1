package app

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
)

// stdin is the standard input that the analysis gets; nil if it is empty. That of a detached run would end with its
// caller, and a terminal is for a person.
func (s *invocation) stdin() io.Reader {
	file, ok := s.program.Stdin.(*os.File)
	if !ok || s.request.Detach || s.parser.ReadsStdin() || !passable(file) {
		return nil
	}
	return file
}

// passable reports whether a file is a pipe, a socket, or a regular file that is not at its end.
func passable(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	if info.Mode().IsRegular() {
		at, err := file.Seek(0, io.SeekCurrent)
		return err == nil && at < info.Size()
	}
	return info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0
}

// idleShell is the command if it is a shell that a person at a terminal wants to type into, else "".
func (s *invocation) idleShell() string {
	file, ok := s.program.Stdin.(*os.File)
	words := s.request.Analysis.Command
	if !ok || len(words) != 1 || !slices.Contains([]string{"sh", "bash", "dash", "zsh"}, filepath.Base(words[0])) || !screen.IsTerminal(file) {
		return ""
	}
	return screen.Escape(words[0])
}
