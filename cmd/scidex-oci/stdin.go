package main

import (
	"io"
	"io/fs"
	"os"
)

// stdin is the standard input that the analysis gets; nil where it is empty. That of a detached run would end with its
// caller, and a terminal is for a person.
func (s *session) stdin() io.Reader {
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
