package results

import (
	"encoding/json"
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// postProcess describes how a hook ended.
func (t Table) postProcess(r result.Result) {
	p := r.PostProcess
	if p == nil {
		return
	}
	how := "has not ended"
	switch {
	case p.TimedOut:
		how = "timed out"
	case p.Signal != nil:
		how = "killed by " + *p.Signal
	case p.ExitCode != nil:
		how = fmt.Sprintf("exit %d", *p.ExitCode)
	}
	if p.StartedAt != nil {
		how += ", " + format.Duration(p.WallMS)
	}
	t.Row("post", screen.Escape(how)+": "+screen.CommandLine(p.Command))
}

// LastHook names the last hook of a report.
func LastHook(report []byte) string {
	var past result.Report
	if json.Unmarshal(report, &past) != nil || past.PostProcess == nil {
		return ""
	}
	return "; the last one was " + screen.CommandLine(past.PostProcess.Command)
}
