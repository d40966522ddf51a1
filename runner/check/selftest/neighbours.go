package selftest

import (
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// neighbourTrials look for another run: its marks and its directory below tmp. The control is own, the outcomes of the
// canary that left the marks.
func neighbourTrials(tmp string, marks canary.Marks, own []canary.Outcome) (all []trial) {
	for i, mark := range marks.List() {
		t := trial{check: "neighbour", target: mark.What + " of " + marks.Name, attempt: mark.Attempt}
		t.judge = judge.Refused([]string{mark.Step}, mark.Absent...)
		t.control = "the canary that left it did not tell"
		if i < len(own) {
			t.controlled = own[i].Got[mark.Step] == canary.OK
			t.control = own[i].Got[mark.Step] + " by the canary that left it"
		}
		all = append(all, t)
	}
	dir := filepath.Join(tmp, lockdir.RunPrefix+marks.Name)
	return append(all, fact("neighbour", dir, canary.Attempt{Do: "stat", At: dir}, judge.Absent))
}
