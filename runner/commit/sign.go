package commit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// Signing is the key that signs the statement of a run, and where that is published.
type Signing struct {
	Key  signing.Key
	Into *cas.Ingest
}

// Sign signs the statement of the result that Judge has made, and adds it to the row and the report as blobs of the run. Where
// that fails the run is Unsigned.
func Sign(ctx context.Context, s Signing, e End, f Final, now time.Time) (Final, error) {
	signed, blobs, err := s.statement(ctx, e, f)
	if err != nil {
		return Unsigned(e, f, err, now)
	}
	f.Report.Statement = signed
	f.Row.Blobs = append(f.Row.Blobs, blobs...)
	f.Row.Report, err = json.Marshal(f.Report)
	return f, err
}

// Unsigned is the end of a run that was to be signed and could not be, for the reason why: scidex-oci has failed at what it was
// asked for, so that a complete run is an error. Others have a warning.
func Unsigned(e End, f Final, why error, now time.Time) (Final, error) {
	why = fmt.Errorf("the run has no signed statement: %w", why)
	if f.Outcome.State == outcome.Complete {
		e.Ended.Failure = &phase.Failure{Reason: outcome.ReasonCommit, Err: fmt.Errorf("%s, but %w", f.Outcome.Message, why)}
	} else {
		e.Ended.Report.Warnings = append(e.Ended.Report.Warnings, result.Sentence(why))
	}
	return Judge(e, now)
}

// statement signs and publishes, durably.
func (s Signing) statement(ctx context.Context, e End, f Final) (signed *result.Statement, blobs []string, err error) {
	res, err := f.Result(e.Harvest.Listed)
	if err != nil {
		return nil, nil, err
	}
	raw, err := res.FileContent()
	if err != nil {
		return nil, nil, err
	}
	all, err := outputsOf(e)
	if err != nil {
		return nil, nil, err
	}
	file, keyID, err := s.Key.Sign(ctx, raw, all)
	if err != nil {
		return nil, nil, err
	}
	for _, content := range [][]byte{file, raw} {
		digest, err := s.publish(content)
		if err != nil {
			return nil, nil, err
		}
		blobs = append(blobs, digest)
	}
	return &result.Statement{SHA256: blobs[0], ResultSHA256: blobs[1], KeyID: keyID}, blobs, s.Into.Sync()
}

// publish makes a blob.
func (s Signing) publish(content []byte) (digest string, err error) {
	name, file, err := s.Into.Create()
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	return digest, s.Into.Publish(name, digest)
}

// outputsOf are all outputs, sorted by their paths.
func outputsOf(e End) (all []result.Output, err error) {
	next, err := e.Harvest.Entries.Read()
	for err == nil {
		var entry outputs.Entry
		if entry, err = next(); err == nil && entry.Rejected == "" {
			all = append(all, result.NewOutput(entry))
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(all, func(a, b result.Output) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}
