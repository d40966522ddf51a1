package mcp

import (
	"fmt"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/hints"
	"github.com/scidex-ai/scidex-oci/spec"
)

// hints are those that a model can follow: a sentence for those who can set the flags of a run or change the host is replaced by what a model
// can do about an end of that kind, and left out if that is nothing.
func (t *tools) hints(all []result.Hint) []result.Hint {
	model := []result.Hint{}
	for _, h := range all {
		if hints.NamesFlags(h.Code) {
			h.Message = advice(t.bounds)[h.Code]
		}
		if h.Message != "" {
			model = append(model, h)
		}
	}
	return model
}

// advice is what a model can do, by the code of a hint. It has no more than the operator allows.
func advice(most spec.Analysis) map[string]string {
	const bring = "bring what the code reads in files, or name data or outputs of other runs in inputs"
	const lacking = "a run cannot install it: do without, bring a module of your own in files, or ask the operator for it"
	return map[string]string{
		hints.MemoryLimit:      fmt.Sprintf("limits.memory may be up to %s: ask for that, or compute in parts", format.Size(int64(most.Memory))),
		hints.PidsLimit:        fmt.Sprintf("limits.pids may be up to %d: ask for that, or start fewer processes and threads", most.Pids),
		hints.TimeLimit:        fmt.Sprintf("timeout may be up to %v: ask for that, or compute in parts", time.Duration(most.Timeout)),
		hints.WorkLimit:        fmt.Sprintf("limits.work_size may be up to %s and limits.work_files up to %d: ask for that, or write less", format.Size(int64(most.WorkSize)), most.WorkFiles),
		hints.LogTruncated:     fmt.Sprintf("limits.log_size may be up to %s: ask for that, or write to a file in /work", format.Size(int64(most.LogSize))),
		hints.AboveHost:        "a limit is above what this machine has: compute with less",
		hints.Doctor:           "this machine cannot run analyses as it is set up: tell the operator",
		hints.HostFull:         "the disk of this machine is nearly full: tell the operator",
		hints.Crashed:          "the program or a library crashed: call less of it at a time, or use another one",
		hints.NotebookPackages: "what runs notebooks is missing here: give the code itself",
		hints.NoPrivileges:     "a run cannot be root or install packages: leave out sudo, and do without, bring a module of your own in files, or ask the operator for them",
		hints.ModuleMissing:    "a package is missing here (get_environment lists those that there are), and " + lacking,
		hints.ProgramMissing:   "a program is missing here (get_environment lists the languages that there are; Python is python3), and " + lacking,
		hints.ArgumentsMissing: "the code wants more arguments: give them in args, or at the end of command",
		hints.NoNetwork:        "a run is " + network(most) + ": " + bring,
		hints.HostRefused:      "a run is " + network(most) + ": " + bring,
		hints.LocalFile:        "this machine's files are not there for a run: " + bring,
		hints.NoData:           "the operator shares no such directory: " + bring,
		hints.NoSuchFile:       "there is no such file for this run (get_environment lists those that the operator shares): " + bring + "; to write one, create its directory first",
		hints.Unreadable:       "a run may not read that: " + bring,
		hints.NoInput:          "a run has nothing at standard input: read a file",
	}
}

// said is the message of a run. Of others than those of a full /work a part may be what the analysis wrote, and stays as it is.
func said(reason outcome.Reason, text string) string {
	if reason == outcome.ReasonWorkFull {
		text = inFields.Replace(text)
	}
	return format.EscapeText(text)
}

// inFields has the limits of a call instead of the flags that a message names.
var inFields = strings.NewReplacer("--memory", "limits.memory", "--cpus", "limits.cpus", "--pids", "limits.pids", "--log-size", "limits.log_size",
	"--work-size", "limits.work_size", "--work-files", "limits.work_files", "--timeout", "timeout", "--input", "inputs", "--output", "outputs")
