package phase

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Ended is how an analysis ended, and all that the phases after it need. It is also the exit record, the head of a file
// next to the state file, whose entries are what was staged: with it gc finishes the work of a killed launcher.
type Ended struct {
	Key      catalog.Key     `json:"-"` // the row has it
	Analysis spec.Analysis   `json:"-"` // the row has it
	Staged   []outputs.Entry `json:"-"` // the entries of the record
	Failure  *Failure        `json:"-"` // of scidex-oci; nil: none. A run with one has no exit record
	LogError error           `json:"-"` // why a file of Logs, Script or Stdin is not whole

	V         int                 `json:"v"` // 1
	BootID    string              `json:"boot_id"`
	StartedAt time.Time           `json:"started_at"`
	Exit      sandbox.Exit        `json:"exit"`
	Stopped   *request.StopSignal `json:"stopped,omitempty"`
	StoppedAt time.Time           `json:"stopped_at"`
	Forced    bool                `json:"insisted,omitempty"` // killed before the grace period was over
	Report    result.Report       `json:"report"`
	Outer     bool                `json:"outer,omitempty"` // --limits outer
	PidsLimit int64               `json:"pids_limit"`
	Audit     bool                `json:"audit"`
	Command   []string            `json:"command"`
	HasData   bool                `json:"has_data,omitempty"`
	HasDocs   bool                `json:"has_docs,omitempty"`
	Hook      *HookDue            `json:"hook,omitempty"`
	Signed    bool                `json:"signed,omitempty"` // a statement of the run is to be signed
	Ingest    string              `json:"ingest"`           // the name of the ingest directory
	Logs      [2]*KeptFile        `json:"logs"`
	Script    *KeptFile           `json:"script,omitempty"`
	Stdin     *KeptFile           `json:"stdin,omitempty"`  // what the analysis read of it; nil: there was none
	Inside    string              `json:"inside,omitempty"` // the script's path there
	// StderrEnd is the end of standard error, without the values of secrets.
	StderrEnd string `json:"stderr_end,omitempty"`
	// Root is the directory that the analysis had as "/".
	Root string `json:"root,omitempty"`
}

// Failure is why scidex-oci failed at a run after its intent.
type Failure struct {
	Reason outcome.Reason
	Err    error
}

// Is reports whether the failure is of that reason; a nil one is of none.
func (f *Failure) Is(reason outcome.Reason) bool { return f != nil && f.Reason == reason }

// HookDue is a hook that is due after the commit.
type HookDue struct {
	Command []string `json:"command"`
	Always  bool     `json:"always,omitempty"`
}

// KeptFile is what is kept of a stream, of the script or of the standard input, in a file of the ingest directory. Kept and Total are bytes; SHA256
// is empty if nothing was kept.
type KeptFile struct {
	Name   string `json:"name,omitempty"`
	Kept   int64  `json:"kept"`
	Total  int64  `json:"total"`
	SHA256 string `json:"sha256,omitempty"`
}

// Links are links of the working directory that lead relative paths to inputs.
func (e Ended) Links() map[string]string { return Links(e.HasData, e.HasDocs) }

// Links are Ended.Links of a run with such inputs.
func Links(data, docs bool) map[string]string {
	links := map[string]string{}
	if data {
		links["data"] = "/data"
	}
	if docs {
		links["docs"] = "/docs"
	}
	return links
}

// InMemory reports whether /work was a tmpfs.
func (e Ended) InMemory() bool { return e.Analysis.WorkStorage == spec.WorkTmpfs }
