package main

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
)

// annotate tells a GitHub workflow of a line that is not complete, by a workflow command. It goes to standard error, of
// which the workflow's runner reads commands as well: standard output has the results.
func (b *batchSession) annotate(line batch.Line, o batch.Outcome) {
	if b.program.Env.Text("GITHUB_ACTIONS") != "true" || o.Result.State == catalog.Complete {
		return
	}
	fmt.Fprintln(b.screen, annotation(nameOf(line), o.Result.Message))
}

// annotation is a workflow command (docs.github.com, "Workflow commands for GitHub Actions"), escaped as the runner's
// ActionCommand reads it.
func annotation(title, message string) string {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return screen.Escape("::error title=" + property.Replace(title) + "::" + text.Replace(message))
}
