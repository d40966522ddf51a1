package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// tailSize is how much of the end of standard error is searched for a hint, in bytes.
const tailSize = 8 << 10

// circumstances are the input of a hint.
type circumstances struct {
	result   result.Result
	analysis spec.Analysis
	stderr   string   // its end
	local    []string // arguments that name a file of the caller's directory; see local
	root     bool     // the caller is root, whose runs never have its id
}

var (
	noModule = pattern(`ModuleNotFoundError: No module named '([^'\n]+)'`)
	noAccess = pattern(`(?:PermissionError: .*|Permission denied: )'((?:/(?:data|docs|inputs|analysis)|data|docs)(?:/[^'\n]*)?)'`)
	readOnly = pattern(`Read-only file system: '([^'\n]+)'`)
)

// askDoctor is the hint for what the host lacks.
const askDoctor = `"scidex-oci doctor" tells what this host lacks, and what cures it`

// withDoctor adds that to a refusal caused by the host.
func withDoctor(err error) error {
	var host *request.HostError
	if errors.As(err, &host) {
		return fmt.Errorf("%w; %s", err, askDoctor)
	}
	return err
}

// hint is one sentence about a beginner's mistake, or "".
func hint(c circumstances) string {
	if c.result.State == catalog.Error && c.result.Reason == result.ReasonSandbox {
		return askDoctor
	}
	if c.result.State != catalog.Failed {
		return ""
	}
	switch c.result.Reason {
	case result.ReasonOutOfMemory:
		return "give it more memory with --memory SIZE"
	case result.ReasonTimeout:
		return "give it more time with --timeout DURATION"
	case result.ReasonPidsLimit:
		return "allow more processes and threads with --pids N"
	case result.ReasonWorkFull:
		return "give /work more with --work-size SIZE or --work-files N"
	case result.ReasonHostFull:
		return "make room on the host, for instance with scidex-oci gc"
	case result.ReasonExit, result.ReasonNotFound, result.ReasonNotInvocable:
		return hintOfExit(c)
	default:
		return ""
	}
}

func hintOfExit(c circumstances) string {
	if len(c.local) > 0 && c.result.ExitCode != 0 {
		return hintLocal(c)
	}
	if m := noModule().FindStringSubmatch(c.stderr); m != nil {
		return hintModule(m[1], c.analysis)
	}
	if m := noAccess().FindStringSubmatch(c.stderr); m != nil {
		return hintAccess(m[1], c)
	}
	if m := readOnly().FindStringSubmatch(c.stderr); m != nil {
		return fmt.Sprintf("%s cannot be written: write to the current directory, /work, or to /tmp", m[1])
	}
	return ""
}

// hintLocal explains why the analysis does not see a file next to the caller.
func hintLocal(c circumstances) string {
	file := c.local[0]
	why := file + " is in your directory, which the analysis does not see: "
	if isScript(file) || c.analysis.Command[0] == file {
		return why + fmt.Sprintf("run it with --script %s, or with --project . as /analysis/%s", file, path.Clean(file))
	}
	return why + fmt.Sprintf("add --input %s and read /inputs/%s", file, path.Base(file))
}

func isScript(name string) bool {
	return slices.Contains([]string{".py", ".R", ".r", ".jl", ".sh", ".ipynb"}, path.Ext(name))
}

func hintModule(module string, a spec.Analysis) string {
	top, _, _ := strings.Cut(module, ".")
	own := "if it is a module of your own, bind its directory with --project DIR"
	if a.Project != "" {
		own = "if it is a module of your own, it is not next to the script in --project"
	}
	if a.Runtime != "" {
		return fmt.Sprintf("Python has no module %q: install it in the environment %s on the host; %s", top, screen.ShellQuote(a.Runtime), own)
	}
	return fmt.Sprintf("Python has no module %q: only the host's packages are there: install it in a virtual environment or a conda environment, "+
		"and add --runtime DIR; %s", top, own)
}

func hintAccess(name string, c circumstances) string {
	if c.result.Sandbox.IDs == "self" {
		return fmt.Sprintf("%s cannot be read by you either: give yourself the right with chmod", name)
	}
	advice := fmt.Sprintf("%s cannot be read by the analysis' user id: let others read it with chmod -R o+rX on the host's directory", name)
	if c.root {
		return advice
	}
	return advice + ", or run with --ids self"
}
