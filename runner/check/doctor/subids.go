package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
)

// judgeSubIDs finds the ids that the caller may give to runs, and whether runs with these flags may have them.
func judgeSubIDs(a idmap.Account, asked, limits string) Finding {
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
		f = f.as(Warn, "runs have the caller's own id, and are uid 0 inside", remedySubIDs(a))
	}
	if err := plan.CheckIDs(a, asked, limits); err != nil {
		f.Seen = err.Error()
		f = f.as(Fail, "runs are refused", remedySubIDs(a))
		var host *request.HostError
		if !errors.As(err, &host) {
			f.Cure, f.Command = "leave --ids out", "scidex-oci run COMMAND"
		}
	}
	return f
}

func remedySubIDs(a idmap.Account) remedies.Remedy {
	switch {
	case a.Root():
		return remedies.Remedy{Sentence: "the outer container must be started with a larger id map", Command: "podman run --userns=auto:size=131072 IMAGE"}
	case strings.Contains(a.Notice, "is missing"):
		return remedies.Remedy{Sentence: "let root install the program that writes the id maps", Command: "apt-get install uidmap"}
	}
	return remedies.Remedy{
		Sentence: "let root give this user a range of ids",
		Command:  fmt.Sprintf("usermod --add-subuids 100000-165535 --add-subgids 100000-165535 \"$(id -un %d)\"", a.UID),
	}
}

func span(r idmap.Range) string { return fmt.Sprintf("%d to %d", r.Start, r.Start+r.Count-1) }
