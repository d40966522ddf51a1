package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/preload"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// early has the command started ahead, or the analysis forked, and returns when it is ready or of no use. The report says which.
func early(ctx context.Context, t Task, report *report) error {
	waiting, release := request.UntilStop(ctx, t.Request.Stop, 0)
	unheeded := context.AfterFunc(waiting, func() { t.Space.Warn(t.Space.Supervisor.Kill()) })
	note, forked, err := t.Space.Supervisor.Prepare()
	unheeded()
	if forked != nil {
		defer forked.Close()
	}
	if err = cmp.Or(release(), err); err != nil {
		return err
	}
	start := preload.Read(note)
	report.Start = &start
	if forked == nil {
		return nil
	}
	return confineFork(t, report, forked)
}

// leastMemory is the least limit that is left to a forked analysis, in bytes.
const leastMemory = 8 << 20

// confineFork moves a forked analysis into the control group. The memory that it has inherited is counted in its template's group:
// its own limit is the asked one less that.
func confineFork(t Task, report *report, forked *os.File) error {
	pid, err := sandbox.PidOf(forked)
	if err != nil {
		return err
	}
	inherited, err := anonymousMemory(pid)
	if err != nil {
		return err
	}
	report.Start.Kind, report.Start.SharedBytes = result.StartForked, inherited
	group := t.Space.Group
	if group == nil {
		return nil
	}
	if err := group.Add(pid); err != nil {
		return err
	}
	limits := plan.CgroupLimits(t.Plan.Analysis, t.Plan.Parent)
	limits.Memory = max(limits.Memory-inherited, leastMemory)
	got, err := group.Set(limits)
	report.Enforced = plan.Enforced(t.Plan.Analysis, &got)
	return err
}

// anonymousMemory is what a process has of memory that belongs to no file, in bytes (RssAnon of proc_pid_status(5)).
func anonymousMemory(pid int) (int64, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, is := strings.CutPrefix(line, "RssAnon:"); is {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("status of process %d: %w", pid, err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("the kernel does not say how much memory a process has (RssAnon, Linux 4.5)")
}
