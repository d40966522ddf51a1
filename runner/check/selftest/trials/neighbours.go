package trials

import (
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// Neighbours look for another run: its marks and its directory below tmp. The control is own, the outcomes of the
// canary that left the marks.
func Neighbours(tmp string, marks canary.Marks, own []canary.Outcome) (all []Trial) {
	for i, mark := range marks.List() {
		t := Trial{Check: "neighbour", Target: mark.What + " of " + marks.Name, Attempt: mark.Attempt}
		t.Judge = judge.Refused([]string{mark.Step}, mark.Absent...)
		t.Control = "the canary that left it reported nothing"
		if i < len(own) {
			t.Controlled = own[i].Got[mark.Step] == canary.OK
			t.Control = own[i].Got[mark.Step] + " by the canary that left it"
		}
		all = append(all, t)
	}
	dir := filepath.Join(tmp, lockdir.RunPrefix+marks.Name)
	return append(all, Fact("neighbour", dir, canary.Attempt{Do: "stat", At: dir}, judge.Absent))
}
