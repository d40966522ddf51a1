package sandbox

import (
	"io/fs"
	"os"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

// Job is one run as a sandbox needs it. It is given to Create once. Its files stay the caller's, who may close them when Create has
// returned.
type Job struct {
	ID string `json:"id"`
	// Ahead are the variables, "NAME=VALUE", of a command that starts before its turn (Session.Prepare); nil: it starts with the analysis.
	Ahead []string `json:"ahead,omitempty"`
	// AheadWithin is how long that may take to be ready.
	AheadWithin time.Duration `json:"ahead_within,omitempty"`
	// FixedAddresses disables address space randomisation.
	FixedAddresses bool `json:"fixed_addresses,omitempty"`
	// Spec is the OCI specification of the analysis. It has no filter of system calls and no init, which are the sandbox's own, and
	// the sources of its binds are below.
	Spec *specs.Spec `json:"spec"`
	// Tree is the root filesystem, and Base its Base when it was opened; nil if it has none.
	Tree rootfs.Tree `json:"tree"`
	Base *Bind       `json:"base,omitempty"`
	// Hold, if not nil, is kept open while anything of the run lives.
	Hold *os.File `json:"-"`
	// Cache are files in the home directory, which belong to the analysis.
	Cache []rootfs.File `json:"cache,omitempty"`
	// Binds are the run's read-only binds, in addition to the tree's.
	Binds []Bind `json:"binds,omitempty"`
	// Script is put into the root filesystem, which the analysis only reads; nil: none.
	Script *Script `json:"script,omitempty"`
	// Stdin is the read end of the pipe that is the standard input; nil: it is empty.
	Stdin *os.File `json:"-"`
	// Terminal says that Stdin is a terminal, which is the other streams too and controls the analysis.
	Terminal bool `json:"terminal,omitempty"`
	// Work is the working directory at WorkPath, and Ingest that into which it is harvested.
	Work     *os.File `json:"-"`
	Ingest   *os.File `json:"-"`
	WorkPath string   `json:"work_path"`
	// WorkDirs are the paths of the working directory inside; the first is mounted before the others.
	WorkDirs []string `json:"work_dirs"`
	// Links are made in the working directory unless their names exist.
	Links map[string]string `json:"links,omitempty"`
	// Scratch are directories inside that end with the container.
	Scratch []string `json:"scratch,omitempty"`
	// Listen is the port of 127.0.0.1, in the network namespace of the run, on which a socket is to listen before the analysis
	// starts; 0: none. Created has it.
	Listen uint16 `json:"listen,omitempty"`
	// Audit says that connection attempts are recorded.
	Audit bool `json:"audit,omitempty"`
	// Crowded says that the analysis and the supervisor share a process limit.
	Crowded bool `json:"crowded,omitempty"`
	// Owner is the analysis' id among those of the account (idmap.Slot).
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

// Bind is one read-only bind of a run. File is Source, opened and checked; only the same inode may be shown.
type Bind struct {
	Source      string   `json:"source"`
	Destination string   `json:"destination"`
	Directory   bool     `json:"directory"`
	Dev         uint64   `json:"dev"`
	Ino         uint64   `json:"ino"`
	File        *os.File `json:"-"`
	// RealPath is the path of a single file without symbolic links.
	RealPath string `json:"real_path,omitempty"`
}

// Script is the run's copy of a script: no host inode is exposed.
type Script struct {
	Path string      `json:"path"` // inside, absolute
	Mode fs.FileMode `json:"mode"` // permission bits; all may read it
	File *os.File    `json:"-"`
	// Early is where a command that is started ahead (Job.Ahead) reads it: the file at Path is empty until the run begins, so that what
	// does not wait executes nothing. Empty: the file is whole from the start.
	Early string `json:"early,omitempty"`
}
