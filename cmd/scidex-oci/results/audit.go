package results

import (
	"fmt"
	"strconv"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// audit lists what the analysis tried and was refused. The usual attempts of libraries and limits that the state already
// reports are left to --json.
func (t Table) audit(r result.Result) {
	var cells [][]string
	for _, e := range r.Audit {
		if e.Severity == "low" || len(cells) == MaxEntries {
			continue
		}
		cells = append(cells, auditCells(e))
	}
	if len(cells) == 0 {
		return
	}
	t.Row("refused", t.Palette.Yellow(fmt.Sprintf("%d, see \"audit\" of show --json", r.AuditTotal)))
	t.Rows(cells)
}

func auditCells(e result.AuditEvent) []string {
	times := ""
	if e.Count > 1 {
		times = strconv.FormatInt(e.Count, 10) + " times"
	}
	return []string{screen.Escape(e.Severity), screen.Escape(e.Kind), screen.Escape(e.Address), times}
}
