// Package report makes a page of a run for people: one HTML file that loads nothing and executes nothing, whatever the
// run's outputs hold. It is pure: the result comes in as a value, contents come from a store of blobs, and the page
// goes to a writer.
//
// Outputs, logs, names and messages are the work of an adversary, and the reader's browser is what they may not reach:
//
//   - all text goes through html/template and, before that, through pieces (text.go), which makes visible what does not
//     print or reorders text;
//   - an image is one by its contents, never by its name, and its size is known before it is embedded (figure.go);
//   - SVG is embedded as an image, for which browsers execute and load nothing, and only where it has nothing to execute
//     or load (svg.go);
//   - the page forbids the browser everything but its own style, by its digest, and data: images (render.go).
package report

import (
	"encoding/json"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Blobs is the store that the contents come from. Open returns an error that is fs.ErrNotExist for what it does not have;
// the read that reaches the end returns an error where the contents are not those of the digest.
type Blobs interface {
	Open(sha256 string) (io.ReadCloser, error)
}

// Write writes the page of a run. An error is that of w: what is missing or broken in the store is told in the page.
func Write(w io.Writer, run result.Result, blobs Blobs) error {
	return render(w, "run.html", newPage(run, blobs, none{}))
}

// analysisOf is the analysis as it was run; a zero one where it is of another version.
func analysisOf(r result.Result) (a spec.Analysis) {
	if json.Unmarshal(r.Analysis, &a) != nil {
		return spec.Analysis{}
	}
	return a
}
