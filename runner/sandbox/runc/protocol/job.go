package protocol

import (
	"os"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

const (
	// StageDir is the staging area, a tmpfs that only the supervisor's mount namespace has. It hides a directory that
	// exists everywhere and in which no user has files; nothing below it is needed here.
	StageDir = "/sys/kernel"
	// InitPath is our PID 1, bound into every container.
	InitPath = StageDir + "/init"
)

// Job is a run's job on its way to the supervisor.
type Job struct {
	sandbox.Job
	// Filter is the program of the filter of system calls (runner/filter).
	Filter []byte `json:"filter"`
	Files  Files  `json:"files"`
}

// Files says which of the files sent with a job is which; 0: it has none. File 0 is the working directory and file 1 the ingest directory.
// Mounts are detached ones, which the launcher makes of what only it can open.
type Files struct {
	Hold   int `json:"hold,omitempty"`
	Script int `json:"script,omitempty"`
	Stdin  int `json:"stdin,omitempty"`
	// Work and Base are mounts of the working directory and of the tree's base.
	Work int `json:"work,omitempty"`
	Base int `json:"base,omitempty"`
	// Binds are mounts of the job's binds, all or none.
	Binds []Mounts `json:"binds,omitempty"`
}

// Mounts are those of one bind, and of the directory of a single file. Without them the supervisor opens Source, and the directory of
// RealPath.
type Mounts struct {
	Source int `json:"source,omitempty"`
	Parent int `json:"parent,omitempty"`
}

// Bind is Binds[i].
func (f Files) Bind(i int) Mounts {
	if f.Binds == nil {
		return Mounts{}
	}
	return f.Binds[i]
}

// Given returns file i of those sent with a job; nil if there is none.
func Given(files []*os.File, i int) *os.File {
	if i == 0 || i >= len(files) {
		return nil
	}
	return files[i]
}
