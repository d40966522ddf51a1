package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// pairs shows a map: "a=1  b=2".
func pairs(all map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, format.ShellQuote(name+"="+all[name]))
	}
	return strings.Join(list, "  ")
}

// ending is one line about how a run ended.
func ending(r result.Result) string {
	switch {
	case r.Reason == "":
		return string(r.State)
	case r.Reason == outcome.ReasonExit:
		return fmt.Sprintf("%s: exit %d", r.State, r.ExitCode)
	case r.Signal != "":
		return fmt.Sprintf("%s: %s %s (exit code %d)", r.State, plain(r.Reason), r.Signal, r.ExitCode)
	}
	return fmt.Sprintf("%s: %s (exit code %d)", r.State, plain(r.Reason), r.ExitCode)
}

// plain is a reason as text: "out_of_memory" is "out of memory".
func plain(reason outcome.Reason) string { return strings.ReplaceAll(string(reason), "_", " ") }

// how are the facts of the end.
func how(r result.Result) facts {
	var f facts
	f.add("State", string(r.State))
	f.add("Reason", plain(r.Reason))
	f.add("Exit code", fmt.Sprint(r.ExitCode))
	f.add("Signal", string(r.Signal))
	f.add("Created", utc(r.CreatedAt))
	f.add("Started", utc(r.StartedAt))
	f.add("Finished", utc(r.FinishedAt))
	if r.Requests != nil {
		f.add("Requests to "+strings.Join(r.Requests.Hosts, ", "), r.Requests.Sum())
	}
	f.code("Labels", pairs(r.Labels))
	if p := r.PostProcess; p != nil {
		f.code("Post-processing", format.ShellLine(p.Command...))
		f.add("It ended with", hookEnd(*p))
	}
	return f
}

func hookEnd(p result.PostProcess) string {
	switch {
	case p.TimedOut:
		return "its timeout"
	case p.ExitCode == nil:
		return "no exit code: it has not run, or its end is not known"
	}
	return fmt.Sprintf("exit code %d after %s", *p.ExitCode, format.Duration(p.WallMS))
}
