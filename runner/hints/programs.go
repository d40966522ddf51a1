package hints

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

var (
	noProgram   = pattern(`(?m)(?:^(?:/usr/bin/)?env: [‘'"]?([^’'"\n:]+)[’'"]?: No such file|: (?:line )?\d+: ([^:\n]+): (?:(?:command )?not found|cannot execute: required file))`)
	notExecuted = pattern(`(?m), in _execute_child\n(?:[ \t][^\n]*\n)*FileNotFoundError: [^\n]*: '([^'\n]+)'`)
	noNbpy      = pattern(`(Python here cannot run notebooks)`)
)

// programDirs are the directories of PATH in every root filesystem.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// otherNames are names that programs have elsewhere.
var otherNames = map[string][]string{
	"python": {"python3"}, "python2": {"python3"}, "pip": {"pip3"}, "ipython": {"ipython3"}, "node": {"nodejs"}, "nodejs": {"node"},
	"R": {"Rscript"}, "awk": {"gawk", "mawk"}, "gawk": {"awk"}, "bash": {"sh"}, "zsh": {"bash", "sh"}, "vi": {"vim"},
}

// programMissing says what there is instead of a missing program or interpreter.
func programMissing(f Facts) string {
	name := cmp.Or(f.find(notExecuted), f.find(noProgram))
	if f.Outcome.Reason == outcome.ReasonNotFound {
		name = f.Ended.Command[0]
	}
	if name == "" || localFile(f) != "" || bashNeeded(f) != "" || noGPU(f) != "" || notebookPackages(f) != "" || noPrivileges(f) != "" {
		return ""
	}
	what := "no program " + format.Line(name, 100)
	interpreter, there := f.interpreter(name)
	switch words := strings.Fields(name); {
	case windows(name), windows(interpreter):
		return "the first line of the script ends as Windows ends lines, so its interpreter is not found: convert it with sed -i 's/\\r$//'"
	case there && interpreter == "":
		return format.Line(name, 100) + " is in the container, but its loader is not: choose a root filesystem that has it with --rootfs"
	case there:
		name = interpreter
		what = "no program " + format.Line(name, 100) + ", which the first line of the script names,"
	case f.Outcome.Reason == outcome.ReasonNotFound && len(words) > 1 && (strings.ContainsAny(name, "|&;<>") || f.program(path.Base(words[0])) != ""):
		return "no shell reads the command, so this is the name of one program: run it with -- sh -c " + format.ShellQuote(name)
	case f.find(notExecuted) != "": // subprocess says the same of cwd
		what = "neither a program nor a directory " + format.Line(name, 100)
	}
	base := path.Base(name)
	for _, other := range append([]string{base}, otherNames[base]...) {
		if where := f.program(other); where != "" && where != name {
			return fmt.Sprintf("there is %s in the container, but there is %s", what, where)
		}
	}
	return fmt.Sprintf("there is %s in the container: add --runtime DIR with a directory whose bin has it, or choose a root filesystem that has it with --rootfs", what)
}

// program is the path inside of a program, "" without one.
func (f Facts) program(name string) string {
	if runtime := f.Ended.Analysis.Runtime; runtime != "" {
		if where := path.Join(runtime, "bin", name); isFile(where) {
			return where
		}
	}
	for _, dir := range programDirs {
		if isFile(filepath.Join(f.Ended.Root, dir, name)) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// isFile does not follow a link: in another root it may lead elsewhere.
func isFile(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && !info.IsDir()
}

func notebookPackages(f Facts) string {
	if f.find(noNbpy) == "" {
		return ""
	}
	const packages = "pip install nbclient nbformat ipykernel"
	dir := f.Ended.Analysis.Runtime
	if dir == "" {
		dir = f.Caller.Environment
	}
	if dir == "" {
		return "install what runs notebooks: python3 -m venv ENV && ENV/bin/" + packages + ", then add --runtime ENV"
	}
	return fmt.Sprintf("install what runs notebooks: %s/bin/%s, and run with --runtime %[1]s", format.ShellQuote(dir), packages)
}
