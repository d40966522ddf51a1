// Package preload starts the Python of a script before its run's turn: in the run's own container it imports what the script
// imports first, and waits (docs/adr/0055). The rest is as in a start without it.
package preload

import (
	"bytes"
	"cmp"
	_ "embed"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

//go:embed hook.py
var hook []byte

// dir has the hook, inside.
const dir = "/etc/scidex-preload"

// Script is where the hook reads the script: at its own place it is empty until the run begins. An interpreter that does not execute
// the hook, as with -I, then executes nothing.
const Script = dir + "/script"

// File is the hook. Python's site module imports it as sitecustomize where Variables are set, after the modules of the
// interpreter are there and before the script is opened.
func File() rootfs.File {
	return rootfs.File{Path: dir + "/sitecustomize.py", Data: hook, Mode: 0o444}
}

// Variables are what the interpreter is started with in addition to the analysis' own environment, "NAME=VALUE", for the modules of
// --preload. The hook removes them.
func Variables(modules string) []string {
	if modules == "" {
		modules = spec.PreloadAuto
	}
	return []string{"PYTHONPATH=" + dir, "SCIDEX_PRELOAD=" + modules}
}

// python is an interpreter that has site and obeys PYTHONPATH.
var python = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^python3?(\.[0-9]+)?$`) })

// Obstacle is why a script is not made ready; empty: it is. command runs the script at path inside, env is the environment
// without what scidex-oci adds.
func Obstacle(a spec.Analysis, command []string, inside string, script io.ReaderAt, env map[string]string) string {
	direct := Direct(command)
	switch {
	case a.Preload == spec.None:
		return "--preload none"
	case a.Workdir != "":
		return "--workdir " + a.Workdir
	case len(direct) > 0 && strings.HasPrefix(path.Base(direct[0]), "pypy"):
		return "only CPython imports ahead" // as the hook says, where PyPy has the name of Python
	case Python(command) == "" || len(direct) < 2 || direct[1] != inside:
		return "only Python scripts are made ready"
	case (a.Preload == "" || a.Preload == spec.PreloadAuto) && !imports(script):
		return "the script imports nothing"
	}
	for _, name := range changing {
		if _, set := env[name]; set {
			return name + " is set"
		}
	}
	return ""
}

// maxHead is how much of a script is searched for its first import, in bytes.
const maxHead = 64 << 10

// imports reports whether a script may import something at its beginning: the hook would take longer to find out.
func imports(script io.ReaderAt) bool {
	text, err := io.ReadAll(io.NewSectionReader(script, 0, maxHead))
	return err != nil || bytes.Contains(text, []byte("import"))
}

// changing are variables by which the start of Python differs, or what it imports.
var changing = []string{
	"PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "PYTHONSTARTUP", "PYTHONPLATLIBDIR", "PYTHONINSPECT", "PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME",
	"PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "PYTHONEXECUTABLE", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
}

// Python is the interpreter that a command starts with; empty: another program.
func Python(command []string) string {
	direct := Direct(command)
	if len(direct) == 0 || !python().MatchString(path.Base(direct[0])) {
		return ""
	}
	return direct[0]
}

// Direct is a command without env(1), which only looks up what it executes.
func Direct(command []string) []string {
	if len(command) > 1 && path.Base(command[0]) == "env" {
		return command[1:]
	}
	return command
}

const (
	maxModules = 100 // of a result
	maxReason  = 200 // characters
)

// module is a line of a note: a name, and perhaps a version.
var module = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\w{1,100}) ([0-9A-Za-z.+!_-]{0,100})$`) })

// Read reads the note of an interpreter: what was imported, or why it is of no use.
func Read(note string) result.Start {
	kind, rest, _ := strings.Cut(note, "\n")
	if kind != sandbox.NoteReady {
		why := format.Line(rest, maxReason)
		return result.Start{Kind: result.StartCold, Reason: cmp.Or(why, "the interpreter ended before it had imported the modules")}
	}
	start := result.Start{Kind: result.StartReady, Modules: map[string]string{}}
	for line := range strings.SplitSeq(rest, "\n") {
		if found := module().FindStringSubmatch(line); found != nil && len(start.Modules) < maxModules {
			start.Modules[found[1]] = found[2]
		}
	}
	return start
}
