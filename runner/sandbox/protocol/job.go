package protocol

import (
	"io/fs"
	"os"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

const (
	// StageDir is the staging area, a tmpfs that only the supervisor's mount namespace has. It hides a directory that
	// exists everywhere and in which no user has files; nothing below it is needed here.
	StageDir = "/sys/kernel"
	// InitPath is our PID 1, bound into every container.
	InitPath = StageDir + "/init"
)

// Job is one run as the supervisor needs it. Descriptors are indices into the files sent with it.
type Job struct {
	ID string `json:"id"`
	// Ahead are the variables of a command that starts before its turn (container.Config); nil: it starts with the analysis.
	Ahead []string `json:"ahead,omitempty"`
	// AheadWithin is how long that may take to be ready.
	AheadWithin time.Duration `json:"ahead_within,omitempty"`
	// FixedAddresses disables address space randomisation.
	FixedAddresses bool `json:"fixed_addresses,omitempty"`
	// Spec is the OCI specification without the filter of system calls; the supervisor makes its binds and fills in the
	// sources.
	Spec *specs.Spec `json:"spec"`
	// Filter is that filter's program (runner/filter).
	Filter []byte `json:"filter"`
	// Tree is the root filesystem, and Base its Base when it was opened; nil if it has none.
	Tree rootfs.Tree `json:"tree"`
	Base *Bind       `json:"base,omitempty"`
	// Hold is a file to keep open while anything of the run lives; 0: none.
	Hold int `json:"hold,omitempty"`
	// Cache are files in the home directory, which belong to the analysis.
	Cache []rootfs.File `json:"cache,omitempty"`
	// Binds are the run's read-only binds, beside the tree's.
	Binds []Bind `json:"binds,omitempty"`
	// Script is put into the root filesystem, which the analysis only reads; nil: none.
	Script *Script `json:"script,omitempty"`
	// Stdin is the read end of the pipe that is the standard input; 0: it is empty.
	Stdin int `json:"stdin,omitempty"`
	// Terminal says that Stdin is a terminal, which is the other streams too and controls the analysis.
	Terminal bool `json:"terminal,omitempty"`
	// WorkPath is the working directory; file 0 is its descriptor and file 1 that of the ingest directory.
	WorkPath string `json:"work_path"`
	// WorkMount is the file of the working directory's detached mount; 0: bind WorkPath.
	WorkMount int `json:"work_mount,omitempty"`
	// WorkDirs are the paths of the working directory inside; the first is mounted before the others.
	WorkDirs []string `json:"work_dirs"`
	// Links are made in the working directory unless their names exist.
	Links map[string]string `json:"links,omitempty"`
	// Scratch are directories inside that end with the container.
	Scratch []string `json:"scratch,omitempty"`
	// Listen is the port of 127.0.0.1, in the network namespace of the run, on which a socket is to listen before the analysis
	// starts; 0: none. It comes with created.
	Listen uint16 `json:"listen,omitempty"`
	// Audit says that connection attempts are recorded.
	Audit bool `json:"audit,omitempty"`
	// Crowded says that the analysis and the supervisor share a process limit.
	Crowded bool `json:"crowded,omitempty"`
	// Owner is the analysis' id in the outer namespace.
	Owner int `json:"owner"`
	// Bound limits /work.
	Bound outputs.Extent `json:"bound"`
	// WorkTmpfs are the options of a tmpfs at /work; nil: the working directory.
	WorkTmpfs []string `json:"work_tmpfs,omitempty"`
	// Floor is the free space to keep for the working directory and the blob store.
	Floor   freespace.Floor `json:"floor"`
	Timeout time.Duration   `json:"timeout"`
	Grace   time.Duration   `json:"grace"`
}

// Bind is one read-only bind of a run. The launcher has opened and checked Source; the supervisor binds it only if its
// inode is the same.
type Bind struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Directory   bool   `json:"directory"`
	Dev         uint64 `json:"dev"`
	Ino         uint64 `json:"ino"`
	// Place is the path of a single file without symbolic links.
	Place string `json:"place,omitempty"`
	// Mount is the file of a detached mount that the launcher made, and ParentMount that of a single file's directory; 0:
	// the supervisor opens Source, and the directory of Place.
	Mount       int `json:"mount,omitempty"`
	ParentMount int `json:"parent_mount,omitempty"`
}

// Script is a copy of the launcher's: no host inode is exposed.
type Script struct {
	Path string      `json:"path"` // inside, absolute
	Mode fs.FileMode `json:"mode"` // permission bits; all may read it
	File int         `json:"file"`
	// Early is where a command that is started ahead (Job.Ahead) reads it: the file at Path is empty until the run begins, so that what
	// does not wait executes nothing. Empty: the file is whole from the start.
	Early string `json:"early,omitempty"`
}

// Given returns file i of those sent with a job; nil if there is none.
func Given(files []*os.File, i int) *os.File {
	if i == 0 || i >= len(files) {
		return nil
	}
	return files[i]
}
