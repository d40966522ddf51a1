package check

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// blobs has a statement of one byte and a result that is too long.
type blobs struct{}

func (blobs) Open(_ context.Context, sha256 string) (io.ReadCloser, error) {
	if sha256 == "statement" {
		return io.NopCloser(strings.NewReader("x")), nil
	}
	return io.NopCloser(io.LimitReader(zeros{}, statement.Max+1)), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestRunRefusesLongResult: a file of which only the beginning is read is not reported as changed.
func TestRunRefusesLongResult(t *testing.T) {
	var res result.Result
	res.Statement = &result.Statement{SHA256: "statement", ResultSHA256: "result"}
	r, err := Run(t.Context(), Stores{Blobs: blobs{}}, res, nil)
	want := crate.Problem{Path: result.File, What: "unreadable: it has more than 64MiB"}
	if err != nil || len(r.Problems) != 1 || r.Problems[0] != want {
		t.Errorf("%+v, %v", r.Problems, err)
	}
}
