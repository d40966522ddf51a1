package report

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// What of the last that a failed analysis wrote is on the top of its page.
const (
	failureMax   = 6 << 10 // bytes
	failureLines = 40
)

// failure is the last that a failed analysis wrote: a traceback, mostly.
type failure struct {
	Name string // of the stream
	Text []Coloured
	More bool // there is more before it
}

// newFailure is nil unless it is the analysis that failed, and has written something.
func newFailure(r result.Result, blobs Blobs) *failure {
	if r.State != "failed" {
		return nil
	}
	for _, stream := range []struct {
		name string
		log  result.Log
	}{{"standard error", r.Logs.Stderr}, {"standard output", r.Logs.Stdout}} {
		if stream.log.SHA256 == "" {
			continue
		}
		if text, more := lastLines(blobs, stream.log.SHA256); strings.TrimSpace(text) != "" {
			return &failure{stream.name, coloured(finalLines(text)), more}
		}
	}
	return nil
}

func lastLines(blobs Blobs, sha256 string) (text string, more bool) {
	shown := bothEnds(blobs, sha256, 0, failureMax)
	text = strings.TrimRight(shown.Head+shown.Tail, "\n")
	lines := strings.Split(text, "\n")
	if over := len(lines) - failureLines; over > 0 {
		return strings.Join(lines[over:], "\n"), true
	}
	return text, shown.Omitted > 0
}
