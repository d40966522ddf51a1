package app

import (
	"fmt"
	"slices"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
)

// doctor prints the verdict, then what fails, then what is missing, and what is well only if all is asked for.
func (r reportPrinter) doctor(report doctor.Report, all bool) {
	s := report.Summary
	fmt.Fprintln(r.w, r.verdict(report.Works, screen.Escape(s.Run)))
	fmt.Fprintf(r.w, "limits: %s; %s\n", limitsBy[s.Limits], seenOfRun(s))
	cured := map[string]string{}
	r.findings(report, cured, check.Fail)
	r.findings(report, cured, check.Warn)
	if all {
		r.findings(report, cured, check.OK, check.Skipped)
	} else if well := count(report, check.OK); well > 0 {
		fmt.Fprintf(r.w, "%s well; -v prints them too\n", format.Count(well, "probe", "probes"))
	}
}

// codeWidth is the width of the longest code that is commonly shown.
const codeWidth = 34

// findings prints those of some statuses in the order of the report. cured has which finding a cure was printed for: it is
// printed once.
func (r reportPrinter) findings(report doctor.Report, cured map[string]string, statuses ...check.Status) {
	for _, f := range report.Findings {
		if !slices.Contains(statuses, f.Status) {
			continue
		}
		if first := cured[f.Cure]; first != "" {
			f.Cure, f.Command = "that of "+first, ""
		} else if f.Cure != "" {
			cured[f.Cure] = f.Name
		}
		r.finding(check.Finding(f), len(check.Skipped), codeWidth)
	}
}

func count(report doctor.Report, status check.Status) (n int) {
	for _, f := range report.Findings {
		if f.Status == status {
			n++
		}
	}
	return n
}

var limitsBy = map[doctor.LimitsBy]string{
	doctor.LimitsBySystemd:    "the kernel's, in a scope that systemd gives (cgroup v2)",
	doctor.LimitsByDelegated:  "the kernel's, in a delegated subtree (cgroup v2)",
	doctor.LimitsByV1:         "the kernel's, as root (cgroup v1)",
	doctor.LimitsByOuter:      "left to the control groups around this",
	doctor.LimitsByBestEffort: "best effort, by rlimits and the clock",
	doctor.LimitsByNone:       "nothing can enforce them",
}

var walls = map[string]string{
	"overlay": "out of reach behind an overlay",
	"scan":    "looked for before the start",
}

// seenOfRun says what only a run shows.
func seenOfRun(s doctor.Summary) string {
	ids := fmt.Sprintf("their own, on the host from %d", s.UIDOnHost)
	switch s.IDs {
	case "none":
		return "ids and unix sockets in bound directories: unknown until a run works"
	case "self":
		ids = fmt.Sprintf("the caller's, on the host %d", s.UIDOnHost)
	}
	return "ids: " + ids + "; unix sockets in bound directories: " + walls[s.SocketWall]
}
