package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// Signing is the key that signs the statements of runs, and where these are published.
type Signing struct {
	Key  signing.Key
	Into func() (*cas.Ingest, error)
}

// errNoKey comes only in recovery: a launcher without a key does not note that a statement is to be signed.
var errNoKey = errors.New("scidex-oci was killed before it was signed, and the command that recovered the run has no key (--sign-key)")

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
