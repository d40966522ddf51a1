package results

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// requests sums up what the analysis has asked of hosts. Why some were refused is in the audit, and in a hint.
func (t Table) requests(r *result.Requests) {
	if r == nil {
		return
	}
	t.Row("requests", r.Sum())
	var cells [][]string
	for _, one := range r.List[:min(len(r.List), MaxEntries)] {
		verdict := one.Verdict
		if verdict == result.RequestFailed {
			verdict += ": " + screen.Escape(one.Why)
		}
		cells = append(cells, []string{screen.Escape(one.Method), screen.Escape(fmt.Sprintf("%s:%d", one.Host, one.Port)), verdict})
	}
	t.Rows(cells)
}
