package slurm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Why a submission can have no exports and secrets.
const (
	NoExport = `the outputs are in the catalog after "scidex-oci slurm collect"; export them with "scidex-oci outputs export ID DIR"`
	NoSecret = "its value would lie in a file of Slurm's with the environment of the job"
)

// CheckAnalysis refuses what no node could do.
func CheckAnalysis(a spec.Analysis) error {
	switch {
	case a.Export != "":
		return fmt.Errorf("export %q is not for slurm submit: %s", a.Export, NoExport)
	case len(a.Secrets) > 0:
		return fmt.Errorf("secret %q is not for slurm submit: %s", a.Secrets[0], NoSecret)
	case a.Rootfs != "" && a.Rootfs != "host" && !a.RootfsDirectory():
		return fmt.Errorf("rootfs %q: a node has no images; give the directory of an unpacked root filesystem that the nodes share", a.Rootfs)
	}
	inputs, err := a.ParseInputs()
	if err != nil {
		return err
	}
	for _, input := range inputs {
		if _, blob := input.Digest(); blob {
			return fmt.Errorf(`input %q: a node takes only files and directories; put it into one that the nodes share, with "scidex-oci outputs cat" or "scidex-oci outputs export", and name that`, input.Source)
		}
	}
	return nil
}

// ArraysOf puts lines into arrays.
func ArraysOf(lines []dispatch.Line) []Array {
	sized := make([]Sized, len(lines))
	for i, line := range lines {
		sized[i] = Sized{Number: line.Number, Size: SizeOf(line.Analysis)}
	}
	return Arrays(sized)
}

// NewSubmission is a submission of the lines, with a new name.
func NewSubmission(lines []dispatch.Line, noAudit bool) *Submission {
	return &Submission{
		Name: "scidex-oci-" + rand.Text()[:10], SubmittedAt: time.Now().UTC(), UID: os.Geteuid(), NoAudit: noAudit, Arrays: ArraysOf(lines),
	}
}

// Bind ties the submission to the catalog of host, and returns its lines for the spool. At adds the number of a line to its error.
func (s *Submission) Bind(ctx context.Context, host *phase.Host, from []dispatch.Line, at func(number int, err error) error) (lines []spooled.Line, err error) {
	if lines, s.CatalogID, err = spooled.Lines(ctx, host, from, at); err != nil {
		return nil, fmt.Errorf("%w; nothing was submitted", err)
	}
	return lines, nil
}

// Start makes the spool and submits its arrays with the arguments of sbatch: all of them, or none. On failure nothing is left
// of either, or the error is ErrLeft.
func (s Submission) Start(ctx context.Context, call Call, lines []spooled.Line, args []string) (Spool, error) {
	spool, err := Create(call.Spool, s, lines)
	if err != nil {
		return spool, fmt.Errorf("slurm submit: %w; nothing was submitted", err)
	}
	for k := range s.Arrays {
		err = errors.Join(err, os.WriteFile(spool.ScriptPath(k), []byte(s.Script(k, call)), 0o600))
	}
	if err == nil {
		err = spool.Submit(ctx, args)
	}
	if err != nil && !errors.Is(err, ErrLeft) {
		err = errors.Join(fmt.Errorf("slurm submit: %w; nothing was submitted", err), os.RemoveAll(spool.Dir))
	}
	return spool, err
}
