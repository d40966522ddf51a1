package workspace

import (
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// ExitRecord is what only the launcher knows when the analysis has ended: with it gc does for a killed launcher what
// is left to do. It is the head of a record beside the state file, whose entries are what was staged. It is not
// synced: after a power cut the working directory is not known to be whole either.
type ExitRecord struct {
	V         int                 `json:"v"` // 1
	BootID    string              `json:"boot_id"`
	StartedAt time.Time           `json:"started_at"`
	Exit      sandbox.Exit        `json:"exit"`
	Stopped   *request.StopSignal `json:"stopped,omitempty"`
	StoppedAt time.Time           `json:"stopped_at"`
	Insisted  bool                `json:"insisted,omitempty"`
	Report    result.Report       `json:"report"`
	Outer     bool                `json:"outer,omitempty"` // --limits outer
	PidsLimit int64               `json:"pids_limit"`
	Audit     bool                `json:"audit"`
	Command   []string            `json:"command"`
	HasData   bool                `json:"has_data,omitempty"`
	HasDocs   bool                `json:"has_docs,omitempty"`
	Hook      *HookDue            `json:"hook,omitempty"`
	Ingest    string              `json:"ingest"` // the name of the ingest directory
	Logs      [2]*LogFile         `json:"logs"`
	Script    *LogFile            `json:"script,omitempty"`
	Inside    string              `json:"inside,omitempty"` // the script's path there
}

// HookDue is a hook that is due after the commit.
type HookDue struct {
	Command []string `json:"command"`
	Always  bool     `json:"always,omitempty"`
}

// LogFile is what a logSink has kept, in a file of the ingest directory.
type LogFile struct {
	Name   string `json:"name,omitempty"`
	Kept   int64  `json:"kept"`
	Total  int64  `json:"total"`
	SHA256 string `json:"sha256,omitempty"`
}

// ExitRecordPath is the record's, beside a state file.
func ExitRecordPath(state string) string { return strings.TrimSuffix(state, ".json") + ".aftermath" }

// ReadExitRecord reads the record of a run. There is none where the launcher was killed before, and a damaged one where
// it was killed while it wrote.
func ReadExitRecord(state string) (a ExitRecord, staged []outputs.Entry, err error) {
	content, err := record.Open(ExitRecordPath(state), &a)
	if err != nil {
		return a, nil, err
	}
	defer content.Close()
	err = content.Each(func(entry outputs.Entry) { staged = append(staged, entry) })
	return a, staged, err
}
