package screen

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// StatusLine is the status of a run.
func StatusLine(id string, u event.Usage) string {
	line := fmt.Sprintf("%s  %s  cpu %s  memory %s  processes %d", Escape(id), Clock(u.ElapsedMS), Clock(u.CPUMS), format.Size(u.MemoryBytes), u.Processes)
	if u.Suspended {
		line += "  suspended"
	}
	return line
}
