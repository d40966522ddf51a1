package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// ExportTo is Export to a directory at a path. It refuses one that is not empty unless overwrite.
func ExportTo(ctx context.Context, host *phase.Host, run catalog.Run, dir string, overwrite bool) (left LeftOut, err error) {
	target, err := outputs.OpenTarget(dir, overwrite)
	switch {
	case errors.Is(err, outputs.ErrNotEmpty):
		return left, err
	case err != nil:
		return left, fmt.Errorf("export to %q: %w; name another directory", dir, userdir.Plain(err))
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if err := target.Writable(); err != nil {
		return left, fmt.Errorf("%q %w; name a directory that you can write to", dir, err)
	}
	if left, err = Export(ctx, host, run, target); err != nil {
		return left, fmt.Errorf("export to %q: %w", dir, err)
	}
	return left, nil
}

// Export writes the outputs of a run and its result into a directory as the caller's files, and its statement, if any; an output with
// the name of one of these, or below it, is left out and stays in the blob store. Every blob is verified while
// it is read. Exports into one directory come one after the other.
func Export(ctx context.Context, host *phase.Host, run catalog.Run, target *outputs.Target) (left LeftOut, err error) {
	if err := OutputsRemoved(run); err != nil {
		return left, err
	}
	if err := target.Lock(ctx); err != nil {
		return left, err
	}
	return write(ctx, host, run, target)
}

func write(ctx context.Context, host *phase.Host, run catalog.Run, target *outputs.Target) (left LeftOut, err error) {
	report, err := result.ReportOf(run)
	if err != nil {
		return left, err
	}
	var failed error
	left = LeftOut{Run: run.Key, Signed: report.Statement != nil}
	err = host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && !left.Add(e.Path) {
			failed = exportOne(ctx, host, target, e)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return left, err
	}
	return left, exportResult(ctx, host, target, run, report.Statement)
}

// NothingWritten is the warning of a run whose launcher did not come to the export.
func NothingWritten(dir string, key catalog.Key) string {
	return fmt.Sprintf("%snothing was written to %q; do it with \"scidex-oci outputs export %s DIR\"", result.NotExported, dir, key)
}

// LeftOut are outputs that an export does not write: those that are called like a file of scidex-oci in it, and those below a directory
// that is called so.
type LeftOut struct {
	Run    catalog.Key
	Signed bool // whether a statement is written too
	Count  int64

	first []byte
}

// Add reports whether an output is left out.
func (l *LeftOut) Add(path []byte) bool {
	taken := result.Added(path, l.Signed)
	if taken && l.Count == 0 {
		l.first = bytes.Clone(path)
	}
	if taken {
		l.Count++
	}
	return taken
}

// Warning says which were left out and where they are; "" without any.
func (l *LeftOut) Warning() string {
	if l.Count == 0 {
		return ""
	}
	name, more := outputs.Escape(l.first), ""
	if l.Count > 1 {
		more = fmt.Sprintf(" (and %d more)", l.Count-1)
	}
	return fmt.Sprintf("the output \"%s\"%s is not written, because scidex-oci writes a file of that name; \"scidex-oci outputs cat %s %s\" prints it", name, more, l.Run, format.ShellQuote(name))
}

// exportResult writes the result: of a signed run as it was signed, after the statement.
func exportResult(ctx context.Context, host *phase.Host, target *outputs.Target, run catalog.Run, signed *result.Statement) error {
	if signed != nil {
		return errors.Join(
			exportBlob(ctx, host, target, result.StatementFile, signed.SHA256),
			exportBlob(ctx, host, target, result.File, signed.ResultSHA256))
	}
	res, err := watch.Show(ctx, host, run)
	if err != nil {
		return err
	}
	raw, err := res.FileContent()
	if err != nil {
		return err
	}
	return target.Put([]byte(result.File), 0o644, bytes.NewReader(raw))
}

func exportBlob(ctx context.Context, host *phase.Host, target *outputs.Target, name, sha256 string) error {
	return exportOne(ctx, host, target, outputs.Entry{Path: []byte(name), Mode: 0o644, SHA256: sha256})
}

func exportOne(ctx context.Context, host *phase.Host, target *outputs.Target, e outputs.Entry) (err error) {
	content, err := host.Blobs.Open(ctx, e.SHA256)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return target.Put(e.Path, fs.FileMode(e.Mode), content)
}

// OutputsHere returns an error if the outputs of a run cannot be taken: it has not ended, or retention removed their contents.
func OutputsHere(run catalog.Run) error {
	if !run.State.Final() {
		return fmt.Errorf("run %q is %s; its outputs are here when it has ended", run.Key, run.State)
	}
	return OutputsRemoved(run)
}

// OutputsRemoved returns an error with the time if retention removed the contents of a run's outputs, or nil.
func OutputsRemoved(run catalog.Run) error {
	if run.OutputsRemovedAt.IsZero() {
		return nil
	}
	return fmt.Errorf("the contents of the outputs of run \"%s\" were removed by retention (gc --outputs-only) at %s; "+
		"their names and digests are in \"scidex-oci outputs ls %s\"",
		run.Key, run.OutputsRemovedAt.Format(time.RFC3339), run.Key)
}
