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
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// Signing is the key that signs the statements of runs, and where these are published.
type Signing struct {
	Key  signing.Key
	Into func() (*cas.Ingest, error)
}

// errNoKey comes only in recovery: a launcher without a key does not note that a statement is to be signed.
var errNoKey = errors.New("scidex-oci was killed before it was signed, and the command that recovered the run has no key (--sign-key)")

// Judge gives an end its outcome and its row, and its signed statement if it is to have one. If that cannot be signed, scidex-oci
// has failed at what it was asked for: a complete run is then an error, any other has a warning.
func Judge(ctx context.Context, e End, s Signing, now time.Time) (End, error) {
	judged, err := e.judged(now)
	if err != nil || !e.Signed {
		return judged, err
	}
	defer trace.From(ctx).Span(trace.Run, "sign the statement")()
	signed, err := s.sign(ctx, judged)
	if err == nil {
		return signed, nil
	}
	return e.unsigned(judged.Outcome, err).judged(now)
}

// unsigned adds to an end that is not judged yet why the run has no statement. o is the outcome that it would have with one.
func (e End) unsigned(o outcome.Outcome, why error) End {
	why = fmt.Errorf("the run has no signed statement: %w", why)
	if o.State == outcome.Complete {
		e.Failure = &phase.Failure{Reason: outcome.ReasonCommit, Err: fmt.Errorf("%s, but %w", o.Message, why)}
	} else {
		e.Report.Warnings = append(e.Report.Warnings, result.Sentence(why))
	}
	return e
}

// sign signs the statement of the result as it is now, and adds it to the row and the report as blobs of the run, durably.
func (s Signing) sign(ctx context.Context, e End) (End, error) {
	if !s.Key.Given() {
		return e, errNoKey
	}
	into, err := s.Into()
	if err != nil {
		return e, err
	}
	res, err := e.Result()
	if err != nil {
		return e, err
	}
	raw, err := res.FileContent()
	if err != nil {
		return e, err
	}
	all, err := e.outputs()
	if err != nil {
		return e, err
	}
	file, keyID, err := s.Key.Sign(ctx, raw, all)
	if err != nil {
		return e, err
	}
	statement, err := publish(into, file)
	if err != nil {
		return e, err
	}
	signed, err := publish(into, raw)
	if err != nil {
		return e, err
	}
	e.Report.Statement = &result.Statement{SHA256: statement, ResultSHA256: signed, KeyID: keyID}
	e.Row.Blobs = append(e.Row.Blobs, statement, signed)
	if e.Row.Report, err = json.Marshal(e.Report); err != nil {
		return e, err
	}
	return e, into.Sync()
}

// publish makes a blob.
func publish(into *cas.Ingest, content []byte) (digest string, err error) {
	name, file, err := into.Create()
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	return digest, into.Publish(name, digest)
}

// outputs are all outputs, sorted by their paths.
func (e End) outputs() (all []result.Output, err error) {
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
