package check

import (
	"context"
	"encoding/json"
	"io"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// Stores have a run and its blobs.
type Stores struct {
	Catalog interface {
		Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error
	}
	Blobs interface {
		Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
	}
}

// Run verifies a run in the catalog, whose result is now res. What may change after the commit is not compared: whether the run is
// pinned, what its hook and its export did, and the removal of its outputs, which makes them missing.
func Run(ctx context.Context, s Stores, res result.Result, keys []statement.PublicKey) (*Report, error) {
	r := newReport()
	if res.Statement == nil {
		r.problem(result.StatementFile, "missing: run "+res.Key().String()+" has no signed statement")
		return r, nil
	}
	file, raw := r.blob(ctx, s, result.StatementFile, res.Statement.SHA256), r.blob(ctx, s, result.File, res.Statement.ResultSHA256)
	if len(r.Problems) > 0 {
		return r, ctx.Err()
	}
	signed := r.open(file, raw, keys)
	if signed == nil {
		return r, nil
	}
	now, err := json.Marshal(res)
	if err != nil {
		return r, err
	}
	if err := statement.SameResult(now, raw); err != nil {
		r.problem("the catalog", err.Error())
	}
	return r.sorted(), r.outputs(ctx, s, res.Key(), signed)
}

// blob reads the result or the statement from the blob store, which verifies it during the read.
func (r *Report) blob(ctx context.Context, s Stores, name, sha256 string) []byte {
	content, err := s.Blobs.Open(ctx, sha256)
	if err != nil {
		r.problem(name, "unreadable: "+err.Error())
		return nil
	}
	defer content.Close()
	data, err := bounded.ReadAll(content, statement.Max)
	if err != nil {
		r.problem(name, "unreadable: "+err.Error())
	}
	return data
}

// outputs compares those in the catalog with the statement, and reads each.
func (r *Report) outputs(ctx context.Context, s Stores, key catalog.Key, signed *statement.Signed) error {
	named := map[statement.Output]bool{}
	for _, o := range signed.Outputs() {
		named[o] = true
	}
	err := s.Catalog.Outputs(ctx, key, func(e outputs.Entry) bool {
		if e.Rejected != "" {
			return true
		}
		o := result.NewOutput(e)
		one := statement.Output{Path: o.Path, PathB64: o.PathB64, Size: o.Size, SHA256: o.SHA256, Mode: o.Mode}
		if !named[one] {
			r.problem(o.Path, "changed in the catalog: it is not as the statement names it")
			return ctx.Err() == nil
		}
		delete(named, one)
		r.compare(o.Path, readBlob(ctx, s, o.SHA256), o.Size)
		return ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	for o := range named {
		r.problem(o.Path, "missing in the catalog")
	}
	r.sorted()
	return err
}

// readBlob returns why a blob is not whole, empty if it is.
func readBlob(ctx context.Context, s Stores, sha256 string) string {
	content, err := s.Blobs.Open(ctx, sha256)
	if err != nil {
		return err.Error()
	}
	defer content.Close()
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err.Error()
	}
	return ""
}
