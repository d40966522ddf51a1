package stops_test

import (
	"fmt"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/stops"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

var term = request.StopSignal{ExitCode: 143, Name: "SIGTERM"}

// Each stop sends a signal, and two that ask may be seen with the first: then the second has its answer already.
func TestAddressTellsStopsApart(t *testing.T) {
	type asks map[string][]int64
	for name, test := range map[string]struct {
		signals []asks // who asks for which run when each is received
		want    []int  // how many signals each run receives
		all     bool   // whether the last signal is for all
	}{
		"one after the other":    {[]asks{{"1": {7}}, {"1": {7}, "2": {8}}}, []int{1, 1, 0}, false},
		"two at once":            {[]asks{{"1": {7}, "2": {8}}, {"1": {7}, "2": {8}}}, []int{1, 1, 0}, false},
		"one again":              {[]asks{{"1": {7}}, {"1": {7, 8}}}, []int{2, 0, 0}, false},
		"one twice at once":      {[]asks{{"1": {7, 8}}, {"1": {7, 8}}}, []int{2, 0, 0}, false},
		"one, and then all":      {[]asks{{"1": {7}}, {"1": {7}}}, []int{2, 1, 1}, true},
		"two at once, then all":  {[]asks{{"1": {7}, "2": {8}}, {"1": {7}, "2": {8}}, {"1": {7}, "2": {8}}}, []int{2, 2, 1}, true},
		"all, and nobody is one": {[]asks{{}}, []int{1, 1, 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var runs stops.Runs
			var added []*stops.Run
			for n := range test.want {
				added = append(added, runs.Add(fmt.Sprint(n+1)))
			}
			all := false
			for _, asked := range test.signals {
				if all = !runs.Address(func(id string) []int64 { return asked[id] }, term); all {
					runs.Stop(term)
				}
			}
			for n, want := range test.want {
				if got := len(added[n].Stop); got != want {
					t.Errorf("run %d received %d signals, want %d", n+1, got, want)
				}
			}
			if all != test.all {
				t.Errorf("the last signal is for all: %v", all)
			}
		})
	}
}

// What a run that has ended was still to receive is no other's.
func TestAddressForgetsWithTheRun(t *testing.T) {
	var runs stops.Runs
	one, _ := runs.Add("1"), runs.Add("2")
	asked := func(id string) []int64 { return map[string][]int64{"1": {7, 8}}[id] }
	if !runs.Address(asked, term) {
		t.Error("a signal for one run was taken for one to all")
	}
	runs.Remove(one)
	if runs.Address(asked, term) {
		t.Error("a signal for all was taken for one of a run that has ended")
	}
}
