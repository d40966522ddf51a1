package app

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
)

// annotate marks a line that is not complete in a GitHub workflow. The command goes to standard error, where GitHub reads
// commands too: standard output has the results.
func (b *batchInvocation) annotate(line dispatch.Line, o dispatch.LineResult) {
	if b.program.Env.Text("GITHUB_ACTIONS") != "true" || o.Result.State == outcome.Complete {
		return
	}
	fmt.Fprintln(b.screen, screen.Escape(batch.GitHubError(line.Name(), o.Result.Explanation())))
}
