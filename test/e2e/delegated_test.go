package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDelegated: in a unit that systemd has delegated, groups are made in that unit (scripts/test vm starts these tests
// in one).
func TestDelegated(t *testing.T) {
	if !unified() {
		t.Log("not covered here: it takes cgroup v2; the tests in the virtual machine do")
		return
	}
	h := newHarness(t)
	end := h.flag()
	l := h.launchProgram(end, nil, "limits/stay.py", "deaf", "ends")
	l.await("ready")
	own, _ := strings.CutPrefix(strings.TrimSpace(readFile(t, "/proc/self/cgroup")), "0::")
	unit := filepath.Join("/sys/fs/cgroup", strings.TrimSuffix(own, "/scidex-oci")) // the leaf for who was there before
	if groups := groupsOf(l.id); len(groups) != 1 || filepath.Dir(groups[0]) != unit || filepath.Ext(unit) != ".scope" {
		t.Errorf("the group is %q, of the unit %s", groups, unit)
	}
	end.raise()
	well(nil).expect(t, l.wait())
}
