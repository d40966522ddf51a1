package mcp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/hints"
	"github.com/scidex-ai/scidex-oci/spec"
)

// hints are those that a model can follow: a sentence for those who can set the flags of a run or change the host is replaced by what a model
// can do about an end of that kind, and left out if that is nothing.
func (t *tools) hints(r result.Result) []result.Hint {
	model := []result.Hint{}
	for _, h := range r.Hints {
		if hints.NamesFlags(h.Code) {
			h.Message = missing(h.Message) + advice(r, t.bounds)[h.Code]
		}
		if h.Message != "" {
			model = append(model, h)
		}
	}
	return model
}

// missing is the beginning of a hint that names a missing module or program; "" if it has none, or a name that is no plain word: what an
// analysis wrote might pass for a word of ours.
func missing(sentence string) string {
	if named := missingName().FindStringSubmatch(sentence); named != nil {
		return named[1] + ": "
	}
	return ""
}

var missingName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:there is )?((?:Python has no module|R has no package) "[\w.-]{1,64}"|no program [\w.+-]{1,64})(?:$|[ :;,])`)
})

// room says which of these limits of a run may be higher, or that they were as high as the operator allows.
func room(r result.Result, most spec.Analysis, otherwise string, names ...string) string {
	var had spec.Analysis
	_ = json.Unmarshal(r.Analysis, &had) // nothing asked for: the defaults
	had = had.WithDefaults()
	var higher, bounds []string
	for _, f := range spec.Fields() {
		if !slices.Contains(names, f.Name) {
			continue
		}
		bounds = append(bounds, f.Name+" was "+f.Text(had))
		if f.Exceeds(most, had) {
			higher = append(higher, inFields.Replace("--"+f.Flag)+" may be up to "+f.Text(most))
		}
	}
	if len(higher) == 0 {
		return strings.Join(bounds, " and ") + ", the most that the operator allows: " + otherwise
	}
	return strings.Join(higher, " and ") + ": ask for that, or " + otherwise
}

// advice is what a model can do about the end of a run, by the code of a hint. It has no more than the operator allows.
func advice(r result.Result, most spec.Analysis) map[string]string {
	const bring = "bring what the code reads in files, or name data or outputs of other runs in inputs"
	const lacking = "a run cannot install it: do without, or ask the operator for it"
	return map[string]string{
		hints.MemoryLimit:      room(r, most, "compute in parts", "memory"),
		hints.PidsLimit:        room(r, most, "start fewer processes and threads", "pids"),
		hints.TimeLimit:        room(r, most, "compute in parts", "timeout"),
		hints.WorkLimit:        room(r, most, "write less", "work_size", "work_files"),
		hints.LogTruncated:     room(r, most, "write to a file in /work", "log_size"),
		hints.AboveHost:        "a limit is above what this machine has: compute with less",
		hints.Doctor:           "this machine cannot run analyses as it is set up: tell the operator",
		hints.HostFull:         "the disk of this machine is nearly full: tell the operator",
		hints.Crashed:          "the program or a library crashed: call less of it at a time, or use another one",
		hints.NotebookPackages: "what runs notebooks is missing here: give the code itself",
		hints.NoPrivileges:     "a run cannot be root or install packages: leave out sudo, and do without, bring a module of your own in files, or ask the operator for them",
		hints.ModuleMissing:    "get_environment lists what there is, and a module of your own can come in files; " + lacking,
		hints.ProgramMissing:   "get_environment lists the languages that there are (Python is python3); " + lacking,
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
	if reason == outcome.ReasonStopped {
		text = strings.ReplaceAll(text, "stopped by scidex-oci stop", "stopped on request")
	}
	return format.EscapeText(text)
}

// inFields has the limits of a call instead of the flags that a message names.
var inFields = strings.NewReplacer("--memory", "limits.memory", "--cpus", "limits.cpus", "--pids", "limits.pids", "--log-size", "limits.log_size",
	"--work-size", "limits.work_size", "--work-files", "limits.work_files", "--timeout", "timeout", "--input", "inputs", "--output", "outputs")
