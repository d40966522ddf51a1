package e2e

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// scheduling is what scheduling.py says.
type scheduling struct {
	Policy      int   `json:"policy"`
	Nice        int   `json:"nice"`
	IO          int   `json:"io"`
	Slack       int   `json:"slack"`
	Personality int   `json:"personality"`
	CPUs        []int `json:"cpus"`
}

func decodeScheduling(t *testing.T, text string) (s scheduling) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return s
}

// TestSchedulingIsNotInherited: of the launcher's scheduling an analysis inherits only the set of CPUs, and the
// niceness that an ordinary user cannot lower.
func TestSchedulingIsNotInherited(t *testing.T) {
	h := newHarness(t)
	program := testdata(t, "scheduling.py")
	python := []string{"-B", program}
	had := decodeScheduling(t, h.finish(h.command("/usr/bin/python3", slices.Concat(python, []string{"/usr/bin/python3"}, python)...)).stdout)
	if had.Policy == unix.SCHED_NORMAL || had.Nice == 0 || had.IO == 0 || had.Slack == 50_000 || had.Personality == 0 || len(had.CPUs) != 1 {
		t.Fatalf("control: a process started so inherits %+v", had)
	}
	want := scheduling{Slack: 50_000, CPUs: had.CPUs, Nice: had.Nice}
	if theHost.root {
		want.Nice = 0
	}
	id := h.newID()
	run := slices.Concat(python, []string{theHost.bin}, runWith(id, flags("--project", testdata(t, "."), "--", "python3", "-B", "/analysis/scheduling.py")))
	r := h.resultOf(h.command("/usr/bin/python3", run...))
	r.expect(t, "complete", "exit", 0)
	if got := decodeScheduling(t, h.stdoutOf(r)); !reflect.DeepEqual(got, want) {
		t.Errorf("it has %+v, want %+v", got, want)
	}
}
