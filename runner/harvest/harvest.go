// Package harvest reads the working directory of an ended analysis and publishes its content, its logs and its script into
// the blob store.
package harvest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Source is where a harvest reads, and where it publishes.
type Source struct {
	Supervisor sandbox.Session
	Ingest     *cas.Ingest
	// Dir is the run's directory where another process ran the analysis: its supervisor, with what it knew, is dead. Nil
	// where Supervisor has the run.
	Dir  *os.File
	Root bool // the caller is the host's root
	Lost bool // the ingest directory that the analysis' logs were in is gone
	// Hopeless is why the working directory is not read any more; nil: it is.
	Hopeless error
}

func (s Source) resumed() bool { return s.Dir != nil }

// Harvested is what a harvest found and published.
type Harvested struct {
	Entries           *Spool         // one for each entry of the working directory
	Listed            result.Excerpt // the part of them that the result lists
	Outputs, Rejected int64
	Bytes             int64    // of the outputs
	Missing           []string // declared outputs that matched nothing
	Blobs             []string // digests of the logs, the script and the standard input
	Stdout, Stderr    result.Log
	Script            *result.Script // nil if a command ran
	Stdin             *result.Stdin  // nil if nothing was read
	Failure           *phase.Failure // why it ended early; nil: it did not
}

// Failed is a harvest that could not begin.
func Failed(err error) Harvested {
	h := Nothing()
	h.Failure = failure(err)
	return h
}

func failure(err error) *phase.Failure {
	if err == nil {
		return nil
	}
	return &phase.Failure{Reason: outcome.ReasonHarvest, Err: err}
}

// Nothing is the harvest of a run that did not reach it.
func Nothing() Harvested { return Harvested{Entries: &Spool{}} }

// Report sets the fields of a report that the harvest knows; to repeat it changes nothing.
func (h Harvested) Report(r *result.Report) {
	r.Logs.Stdout, r.Logs.Stderr, r.Script, r.Stdin = h.Stdout, h.Stderr, h.Script, h.Stdin
}

// Run reads the working directory and makes all that it publishes durable. If it ends early, with a failure, what it
// published by then can be committed.
func Run(ctx context.Context, from Source, ended phase.Ended) Harvested {
	tracer := trace.From(ctx)
	defer tracer.Span(trace.Run, "harvest")()
	w := &walk{from: from, ended: ended, Harvested: Nothing()}
	err := from.Hopeless
	if err == nil {
		err = tracer.Do(trace.Run, "read the working directory", w.gather)
	}
	defer tracer.Span(trace.Run, "publish")()
	err = errors.Join(err, w.publishLogs(), w.publishScript(), w.publishStdin())
	if failed := from.Ingest.Sync(); failed != nil {
		err = errors.Join(err, failed)
		w.disown() // their blobs may not survive a power cut, or not exist
		w.Blobs, w.Script, w.Stdin, w.Stdout.SHA256, w.Stderr.SHA256 = nil, nil, nil, "", ""
	}
	w.Failure = failure(errors.Join(ended.LogError, err))
	return w.Harvested
}

// walk is one harvest.
type walk struct {
	from     Source
	ended    phase.Ended
	declared *outputs.Declared
	Harvested
}

// gather takes every entry of the working directory except unchanged staged ones.
func (w *walk) gather() (err error) {
	if w.declared, err = outputs.NewDeclared(w.ended.Analysis.Outputs); err != nil {
		return err
	}
	w.Entries.create = func() (*os.File, error) { return w.from.Ingest.Scratch() }
	err = w.read(sandbox.Harvest{
		Bounds:  w.bounds(),
		Exclude: w.ended.Analysis.Exclude,
		Partial: w.partial(),
		Names:   w.ended.Exit.Names,
		Link:    w.ended.Analysis.Keep == spec.KeepNever,
	}, outputs.Unchanged(w.ended.Staged))
	w.Missing = w.declared.Missing()
	if failed := w.Entries.end(); failed != nil {
		w.disown()
		return errors.Join(err, failed)
	}
	return err
}

// read takes the changed entries.
func (w *walk) read(h sandbox.Harvest, unchanged func(outputs.Entry) bool) error {
	take := func(entry outputs.Entry) error {
		if unchanged(entry) {
			return nil
		}
		return w.take(entry)
	}
	if !w.from.resumed() {
		_, err := w.from.Supervisor.Harvest(h, take)
		return err
	}
	h.Left = &sandbox.Left{Dir: w.from.Dir, Ingest: w.from.Ingest.Dir(), Below: workspace.WorkName, Links: w.ended.Links()}
	if !w.from.Root {
		_, err := w.from.Supervisor.Harvest(h, take)
		return err
	}
	// The host's root may open everything, and what is above /work is root's and not the supervisor's.
	work, err := workspace.OpenDir(int(w.from.Dir.Fd()), workspace.WorkName)
	if err != nil {
		return err
	}
	defer work.Close()
	h.Left.Dir, h.Left.Below = work, "."
	_, err = w.from.Supervisor.Harvest(h, take)
	return err
}

// bounds are those of /work, or more if a run was seen to exceed them, so that what it wrote is kept.
func (w *walk) bounds() outputs.Bounds {
	exit := w.ended.Exit
	bounds := outputs.Bounds{MaxEntries: w.ended.Analysis.WorkFiles, MaxBytes: int64(w.ended.Analysis.WorkSize)}
	if exit.WorkFull != nil {
		bounds.MaxBytes = max(bounds.MaxBytes, exit.Work.Bytes)
		bounds.MaxEntries = max(bounds.MaxEntries, exit.Work.Files)
	}
	return bounds
}

// partial reports whether any file may have been open for writing when the run ended: if it was killed, or if it is unknown
// which files its remaining processes had open. A supervisor knows that only of its own run.
func (w *walk) partial() bool {
	exit := w.ended.Exit
	if exit.Unseen || exit.Writers && w.from.resumed() {
		return true
	}
	return w.ended.Stopped != nil || exit.TimedOut || !exit.Ended || w.ended.Report.Evidence.OOMKills > 0 || exit.RanFull()
}

// take publishes one entry's file and keeps its verdict for the commit and for the result.
func (w *walk) take(entry outputs.Entry) error {
	if entry.Rejected == "" {
		if err := w.from.Ingest.Gather(entry.Ingest, entry.SHA256); err != nil {
			return err
		}
		entry.Ingest = ""
	}
	if err := w.Entries.add(entry); err != nil {
		return err
	}
	w.Listed.Add(entry)
	if entry.Rejected != "" {
		w.Rejected++
		return nil
	}
	w.Outputs++
	w.Bytes += entry.Size
	w.declared.Seen(entry.Path)
	return nil
}

// disown excludes every entry from the commit: the working directory is kept, and it is complete.
func (w *walk) disown() {
	w.Entries.forget()
	w.Listed, w.Outputs, w.Rejected = result.Excerpt{}, 0, 0
}

func (w *walk) publishLogs() error {
	for i, log := range []*result.Log{&w.Stdout, &w.Stderr} {
		if w.ended.Logs[i] == nil {
			continue
		}
		var err error
		if *log, err = w.publish(*w.ended.Logs[i]); err != nil {
			return fmt.Errorf("keep the log: %w", err)
		}
	}
	return nil
}

// publishScript keeps the script with the run.
func (w *walk) publishScript() error {
	if w.ended.Script == nil {
		return nil
	}
	kept, err := w.publish(*w.ended.Script)
	if err != nil {
		return fmt.Errorf("keep the script: %w", err)
	}
	w.Script = &result.Script{Name: w.ended.Inside, SHA256: kept.SHA256}
	return nil
}

// publishStdin keeps the standard input with the run.
func (w *walk) publishStdin() error {
	if w.ended.Stdin == nil || w.ended.Stdin.SHA256 == "" {
		return nil
	}
	kept, err := w.publish(*w.ended.Stdin)
	if err != nil {
		return fmt.Errorf("keep the standard input: %w", err)
	}
	if kept.SHA256 != "" {
		w.Stdin = &result.Stdin{Bytes: kept.Bytes, SHA256: kept.SHA256}
	}
	return nil
}

// publish moves a file of the ingest directory into the blob store. A killed launcher may have published it; or the
// directory is gone, and the result has a warning.
func (w *walk) publish(f phase.KeptFile) (result.Log, error) {
	log := result.Log{Bytes: f.Total, Truncated: f.Total > f.Kept}
	if f.SHA256 == "" {
		return log, nil
	}
	err := w.from.Ingest.Publish(f.Name, f.SHA256)
	if w.from.Lost && errors.Is(err, fs.ErrNotExist) {
		log.Truncated = true
		return log, nil
	}
	if err != nil {
		return log, err
	}
	log.SHA256 = f.SHA256
	w.Blobs = append(w.Blobs, f.SHA256)
	return log, nil
}
