package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// subIDs looks up the ids that the caller may give to runs, and whether runs with these flags may have them.
func (e *examination) subIDs() { e.add(judgeSubIDs(e.account, e.analysis.IDs, e.analysis.Limits)) }

func judgeSubIDs(a sandbox.Account, asked, limits string) Finding {
	f := Finding{Code: CodeSubIDs, Status: OK, Means: "each run has ids that no other has"}
	switch {
	case a.HasRange():
		f.Seen = fmt.Sprintf("user ids %s, group ids %s", span(a.UIDs), span(a.GIDs))
	case a.Notice != "":
		f.Seen = a.Notice
	default:
		f.Seen = "none for this user in /etc/subuid and /etc/subgid"
	}
	if !a.HasRange() {
		f.Status, f.Means = Warn, "runs have the caller's own id, and are uid 0 inside"
		f.Cure, f.Command = cureSubIDs(a)
	}
	if err := plan.CheckIDs(a, asked, limits); err != nil {
		f.Status, f.Seen, f.Means = Fail, err.Error(), "runs are refused"
		f.Cure, f.Command = cureSubIDs(a)
		var host *request.HostError
		if !errors.As(err, &host) {
			f.Cure, f.Command = "leave --ids out", "scidex-oci run COMMAND"
		}
	}
	return f
}

func cureSubIDs(a sandbox.Account) (sentence, command string) {
	switch {
	case a.Root():
		return "the outer container must be started with a larger id map", "podman run --userns=auto:size=131072 IMAGE"
	case strings.Contains(a.Notice, "is missing"):
		return "let root install the program that writes the id maps", "apt-get install uidmap"
	}
	return "let root give this user a range of ids", fmt.Sprintf("usermod --add-subuids 100000-165535 --add-subgids 100000-165535 \"$(id -un %d)\"", a.UID)
}

func span(r sandbox.IDRange) string { return fmt.Sprintf("%d to %d", r.Start, r.Start+r.Count-1) }
