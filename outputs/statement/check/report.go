package check

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// Report is what was verified. Problems are empty if all was.
type Report struct {
	Keys     []string        `json:"keys"`  // ids of those that signed
	Files    int             `json:"files"` // that are as the statement names them
	Bytes    int64           `json:"bytes"` // of the outputs among them
	Problems []crate.Problem `json:"problems"`
	// NotSigned are files that are there and that no signature covers.
	NotSigned []string `json:"not_signed"`
	// LeftOut are outputs that an export leaves out, since scidex-oci adds files of these names.
	LeftOut []string `json:"left_out,omitempty"`
	// Enforcement is the second statement's predicate; nil if it was not verified.
	Enforcement map[string]any `json:"enforcement"`
}

func newReport() *Report {
	return &Report{Keys: []string{}, Problems: []crate.Problem{}, NotSigned: []string{}}
}

// Verified reports whether all was verified.
func (r *Report) Verified() bool { return len(r.Problems) == 0 && r.Enforcement != nil }

func (r *Report) problem(path, what string) {
	r.Problems = append(r.Problems, crate.Problem{Path: path, What: what})
}

// sorted is the report with its problems by path.
func (r *Report) sorted() *Report {
	slices.SortStableFunc(r.Problems, func(a, b crate.Problem) int { return cmp.Compare(a.Path, b.Path) })
	return r
}

// compare counts a file, or notes how it differs.
func (r *Report) compare(path, what string, size int64) {
	if what != "" {
		r.problem(path, what)
		return
	}
	r.Files++
	r.Bytes += size
}

// open verifies the statement and the result; nil if one of them is not as signed.
func (r *Report) open(file, res []byte, keys []statement.PublicKey) *statement.Signed {
	signed, err := statement.Verify(file, keys)
	if err != nil {
		r.problem(result.StatementFile, err.Error())
		return nil
	}
	for _, key := range signed.Keys() {
		r.Keys = append(r.Keys, key.ID())
	}
	if sum := sha256.Sum256(res); hex.EncodeToString(sum[:]) != signed.ResultDigest() {
		r.problem(result.File, "changed: its digest is another")
		return nil
	}
	if err := signed.Check(res); err != nil {
		r.problem(result.StatementFile, err.Error())
		return nil
	}
	r.Files++
	r.Enforcement = signed.Enforcement()
	return signed
}
