package results

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Show prints all of a result for a person.
func (t Table) Show(r result.Result, attempts []catalog.Run) {
	t.Row("run", fmt.Sprintf("%s (attempt %d)", screen.Escape(r.ID), r.Attempt))
	if len(attempts) > 1 {
		t.Row("attempts", attemptsOf(attempts))
	}
	t.ending(r)
	t.request(r)
	t.Row("labels", Labels(r.Labels))
	t.retention(r)
	t.times(r)
	t.usage(r)
	t.evidence(r)
	t.enforced(r)
	t.sandbox(r)
	t.outputs(r)
	t.rejected(r)
	t.requests(r.Requests)
	t.audit(r)
	t.logs(r)
	t.postProcess(r)
	t.advice(r)
	t.Row("kept", screen.Escape(r.Kept))
	by := strings.TrimSpace("scidex-oci " + r.ToolVersion)
	if r.Host != "" { // a queued one has none yet
		by += " on " + r.Host
	}
	t.Row("by", screen.Escape(by))
}

func (t Table) request(r result.Result) {
	var a spec.Analysis
	if json.Unmarshal(r.Analysis, &a) != nil {
		return // a request of another version; --json has it
	}
	if a.Script != "" {
		t.Row("script", screen.CommandLine(append([]string{a.Script}, a.Args...)))
	} else {
		t.Row("command", screen.CommandLine(a.Command))
	}
	for _, place := range []struct{ word, path string }{
		{"data", a.Data}, {"docs", a.Docs}, {"project", a.Project}, {"stage", a.Stage}, {"export", a.Export},
	} {
		if place.path != spec.None {
			t.Row(place.word, screen.Escape(place.path))
		}
	}
	for _, input := range a.Inputs {
		t.Row("input", screen.Escape(input))
	}
	t.Row("env", Labels(a.Env))
	t.Row("secrets", screen.Escape(strings.Join(a.Secrets, ",")))
}

// retention says what keeps the run from being removed, or what was removed.
func (t Table) retention(r result.Result) {
	if r.Pinned {
		t.Row("pinned", "yes")
	}
	if r.OutputsRemovedAt != nil {
		t.Row("removed", "the contents of the outputs, by retention, at "+screen.LocalTime(*r.OutputsRemovedAt))
	}
}

func (t Table) times(r result.Result) {
	for _, at := range []struct {
		word string
		time *time.Time
	}{{"created", r.CreatedAt}, {"started", r.StartedAt}, {"finished", r.FinishedAt}} {
		if at.time != nil && !at.time.IsZero() {
			t.Row(at.word, screen.LocalTime(*at.time))
		}
	}
}

// evidence prints the kernel's counters that explain an end.
func (t Table) evidence(r result.Result) {
	var list []string
	for _, one := range []struct {
		count int64
		text  string
	}{
		{r.Evidence.OOMKills, fmt.Sprintf("%d killed for memory", r.Evidence.OOMKills)},
		{r.Evidence.PidsDenied, format.Count(r.Evidence.PidsDenied, "process denied", "processes denied")},
		{r.Evidence.ThrottledPeriods, fmt.Sprintf("%d of %d periods throttled (%s)", r.Evidence.ThrottledPeriods, r.Evidence.Periods, format.Duration(r.Evidence.ThrottledMS))},
	} {
		if one.count > 0 {
			list = append(list, one.text)
		}
	}
	t.Row("evidence", strings.Join(list, ", "))
}

func (t Table) enforced(r result.Result) {
	if len(r.Enforced) == 0 {
		return
	}
	cells := [][]string{{"LIMIT", "ASKED", "EFFECTIVE", "BY"}}
	for _, e := range r.Enforced {
		cells = append(cells, []string{screen.Escape(e.Limit), readable(e.Limit, e.Asked), readable(e.Limit, e.Effective), screen.Escape(e.By)})
	}
	t.Row("limits", fmt.Sprint(len(r.Enforced)))
	t.Rows(cells)
}

func (t Table) sandbox(r result.Result) {
	if r.Sandbox.Network == "" {
		return // it was never made
	}
	text := fmt.Sprintf("rootfs %s, network %s, seccomp %s, uid %d on the host (%s)",
		screen.Escape(r.Sandbox.Rootfs), screen.Escape(r.Sandbox.Network), screen.Escape(r.Sandbox.Seccomp), r.Sandbox.UIDOnHost, screen.Escape(r.Sandbox.IDs))
	if r.Sandbox.Landlock > 0 {
		text += fmt.Sprintf(", Landlock %d", r.Sandbox.Landlock)
	}
	if len(r.Sandbox.Groups) > 0 {
		text += fmt.Sprintf(", with the caller's groups %v", r.Sandbox.Groups)
	}
	t.Row("sandbox", text)
	t.image(r.Sandbox)
}

// image prints the image that is the root filesystem.
func (t Table) image(s result.Sandbox) {
	if s.RootfsReference == nil {
		return
	}
	digest := "not checked to the end"
	if s.RootfsDigest != nil {
		digest = screen.Escape(*s.RootfsDigest)
	}
	cells := [][]string{{"reference", screen.Escape(*s.RootfsReference)}, {"root filesystem", digest}}
	if s.PackagesDigest != nil {
		cells = append(cells, []string{"list of packages", screen.Escape(*s.PackagesDigest)})
	}
	t.Row("image", screen.Escape(s.Rootfs))
	t.Rows(cells)
}

func (t Table) logs(r result.Result) {
	if !r.State.Final() {
		return
	}
	if r.Start != nil {
		t.Row("start", screen.Escape(startText(*r.Start)))
	}
	if in := r.Stdin; in != nil {
		t.Row("stdin", format.Size(in.Bytes)+"  sha256:"+in.SHA256)
	}
	t.Row("logs", "stdout "+logOf(r.Logs.Stdout)+", stderr "+logOf(r.Logs.Stderr))
}

// startText is a kind of start with its reason or its modules: "ready: numpy 1.24.2, pandas 1.5.3".
func startText(s result.Start) string {
	text := []string{s.Reason}
	if s.Kind != result.StartCold {
		text = nil
		for _, name := range slices.Sorted(maps.Keys(s.Modules)) {
			text = append(text, strings.TrimSpace(name+" "+s.Modules[name]))
		}
	}
	return s.Kind + ": " + strings.Join(text, ", ")
}

// attemptsOf lists attempts, the first first: "1 failed, 2 complete".
func attemptsOf(attempts []catalog.Run) string {
	var list []string
	for _, run := range attempts {
		list = append([]string{fmt.Sprintf("%d %s", run.Attempt, run.State)}, list...)
	}
	return strings.Join(list, ", ")
}

func logOf(l result.Log) string {
	if l.Truncated {
		return format.Size(l.Bytes) + " (truncated)"
	}
	return format.Size(l.Bytes)
}

// Labels are labels or variables as K=V, escaped.
func Labels(all map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, screen.Escape(name+"="+all[name]))
	}
	return strings.Join(list, ",")
}
