package runner

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// aftermath is what only the launcher knows when the analysis has ended: with it gc does for a killed launcher what
// is left to do. It is the head of a record beside the state file, whose entries are what was staged. It is not
// synced: after a power cut the working directory is not known to be whole either.
type aftermath struct {
	V         int           `json:"v"` // 1
	BootID    string        `json:"boot_id"`
	StartedAt time.Time     `json:"started_at"`
	Exit      sandbox.Exit  `json:"exit"`
	Stopped   *StopSignal   `json:"stopped,omitempty"`
	StoppedAt time.Time     `json:"stopped_at"`
	Insisted  bool          `json:"insisted,omitempty"`
	Report    result.Report `json:"report"`
	Outer     bool          `json:"outer,omitempty"` // --limits outer
	PidsLimit int64         `json:"pids_limit"`
	Audit     bool          `json:"audit"`
	Command   []string      `json:"command"`
	HasData   bool          `json:"has_data,omitempty"`
	HasDocs   bool          `json:"has_docs,omitempty"`
	Hook      *asked        `json:"hook,omitempty"`
	Ingest    string        `json:"ingest"` // the name of the ingest directory
	Logs      [2]*heard     `json:"logs"`
	Script    *heard        `json:"script,omitempty"`
	Inside    string        `json:"inside,omitempty"` // the script's path there
}

// asked is a hook that is due after the commit.
type asked struct {
	Command []string `json:"command"`
	Always  bool     `json:"always,omitempty"`
}

// heard is what a logSink has kept, in a file of the ingest directory.
type heard struct {
	Name   string `json:"name,omitempty"`
	Kept   int64  `json:"kept"`
	Total  int64  `json:"total"`
	SHA256 string `json:"sha256,omitempty"`
}

// aftermathPath is the record's, beside a state file.
func aftermathPath(state string) string { return strings.TrimSuffix(state, ".json") + ".aftermath" }

// keepAftermath writes the record.
func (e *execution) keepAftermath() error {
	f, err := record.Create(aftermathPath(e.tenure.path))
	if err == nil {
		staged := e.staged
		err = record.Write(f, e.aftermath(), func() (entry outputs.Entry, err error) {
			if len(staged) == 0 {
				return entry, io.EOF
			}
			entry, staged = staged[0], staged[1:]
			return entry, nil
		})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("note for a later gc how the analysis ended: %w", err)
	}
	return nil
}

func (e *execution) aftermath() aftermath {
	a := aftermath{
		V: 1, BootID: BootID(), StartedAt: e.run.StartedAt, Exit: e.exit,
		Stopped: e.stopped, StoppedAt: e.stoppedAt, Insisted: e.insisted,
		Report: e.report, Outer: e.outer != nil, PidsLimit: e.pidsLimit(), Audit: e.plan.audit, Command: e.plan.command,
		HasData: e.plan.inputs.hasData, HasDocs: e.plan.inputs.hasDocs,
		Ingest: e.ingest.Name(), Script: e.script.heard(),
	}
	for i, sink := range e.sinks {
		a.Logs[i] = sink.heard()
	}
	if h := e.request.Hook; h != nil {
		a.Hook = &asked{h.Command, h.Always}
	}
	if e.script != nil {
		a.Inside = e.plan.inputs.script.inside
	}
	return a
}

// heard is what a sink has kept so far; nil of none.
func (s *logSink) heard() *heard {
	if s == nil {
		return nil
	}
	h := &heard{Name: s.name, Kept: s.kept, Total: s.total}
	if s.file != nil {
		h.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
	}
	return h
}

// readAftermath reads the record of a run. There is none where the launcher was killed before, and a damaged one where
// it was killed while it wrote.
func readAftermath(state string) (a aftermath, staged []outputs.Entry, err error) {
	content, err := record.Open(aftermathPath(state), &a)
	if err != nil {
		return a, nil, err
	}
	defer content.Close()
	err = content.Each(func(entry outputs.Entry) { staged = append(staged, entry) })
	return a, staged, err
}

// resumable reports whether an ingest directory is that of a run that recovery is to see first: one that has not ended.
func (c *collector) resumable(ctx context.Context, ingest string) bool {
	id, ok := idOfIngest(ingest)
	if !ok {
		return false
	}
	found, _ := filepath.Glob(filepath.Join(globEscape(c.Root), "runs", globEscape(id)+"@*.aftermath")) // the pattern is good
	for _, path := range found {
		var a aftermath
		content, err := record.Open(path, &a)
		if err != nil {
			continue // a damaged one is of no use
		}
		_ = content.Close() // it was only read
		if a.Ingest == ingest && a.BootID == BootID() {
			return !c.ended(ctx, strings.TrimSuffix(filepath.Base(path), ".aftermath"))
		}
	}
	return false
}

// idOfIngest reads the name of an ingest directory: <id>-<random>.
func idOfIngest(name string) (id string, ok bool) {
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return "", false
	}
	return name[:cut], true
}

// ended reports whether a run has ended for certain.
func (c *collector) ended(ctx context.Context, name string) bool {
	key, ok := keyOfName(name)
	if !ok {
		return false
	}
	run, err := c.Catalog.Get(ctx, key)
	return err == nil && run.State.Final()
}

// globEscape is text as a pattern that matches only itself.
func globEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}
