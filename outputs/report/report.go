// Package report makes a page of a run for people: one HTML file that loads nothing and executes nothing, whatever the run's
// outputs hold. It is pure: the result comes in as a value, contents come from a store of blobs, and the page goes to a
// writer.
//
// Outputs, logs, names and messages come from an adversary, who must not reach the reader's browser:
//
//   - all text goes through html/template and, before that, through pieces (text.go), which makes visible what does not
//     print or reorders text;
//   - an image is one by its contents, never by its name, and its size is known before it is embedded (figure.go);
//   - SVG is embedded as an image, for which browsers execute and load nothing, and only if it contains nothing to execute
//     or load (svg.go);
//   - the page forbids the browser everything but its own style, by its digest, and data: images (render.go).
package report

import (
	"encoding/json"
	"io"
	"path"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Blobs is the source of the contents. Open returns an error that is fs.ErrNotExist for a missing blob; the read that
// reaches the end returns an error if the contents do not match the digest.
type Blobs interface {
	Open(sha256 string) (io.ReadCloser, error)
}

// Write writes the page of a run. An error is that of w: the page itself reports missing and damaged blobs.
func Write(w io.Writer, run result.Result, blobs Blobs) error {
	return render(w, "run.html", newPage(run, blobs, none{}))
}

// titleMax bounds the title of a page, in characters.
const titleMax = 60

// title is the name of the script, or the command; that of the run if neither is known, or if its code has no name.
func title(r result.Result) string {
	if script := analysisOf(r).Script; script != "" && !result.Unnamed(script) {
		return path.Base(script)
	} else if script != "" {
		return r.Key().String()
	}
	if ran := result.Ran(r.Analysis); ran != "" {
		return format.Cut(ran, titleMax)
	}
	return r.Key().String()
}

// analysisOf is the analysis as it was run; zero if it is of another version.
func analysisOf(r result.Result) (a spec.Analysis) {
	if json.Unmarshal(r.Analysis, &a) != nil {
		return spec.Analysis{}
	}
	return a
}
