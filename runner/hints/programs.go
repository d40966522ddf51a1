package hints

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/spec"
)

var (
	noProgram   = pattern(`(?m)(?:^(?:/usr/bin/)?env: [‘'"]?([^’'"\n:]+)[’'"]?: No such file|: (?:line )?\d+: ([^:\n]+): (?:(?:command )?not found|cannot execute: required file))`)
	notExecuted = pattern(`(?m), in _execute_child\n(?:[ \t][^\n]*\n)*FileNotFoundError: [^\n]*: '([^'\n]+)'`)
	noNbpy      = pattern(`(Python here cannot run notebooks)`)
)

// programDirs are the directories of PATH in every root filesystem.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// otherNames has, for the name of a missing program, names under which a root filesystem may have it.
var otherNames = map[string][]string{
	"python": {"python3"}, "python2": {"python3"}, "pip": {"pip3"}, "ipython": {"ipython3"}, "node": {"nodejs"}, "nodejs": {"node"},
	"R": {"Rscript"}, "awk": {"gawk", "mawk"}, "gawk": {"awk"}, "bash": {"sh"}, "zsh": {"bash", "sh"}, "vi": {"vim"},
}

// ofShell are words of a shell that are no programs.
var ofShell = []string{
	".", "alias", "case", "cd", "command", "eval", "exec", "exit", "export", "for", "if", "read", "set", "shift", "source", "trap", "type", "ulimit",
	"umask", "unset", "until", "wait", "while",
}

// assignment is a variable before a command, which only a shell reads.
var assignment = pattern(`^[A-Za-z_]\w*=\S*$`)

// missing is the program that was not found, "" if none was looked for.
func (f Facts) missing() string {
	if f.Outcome.Reason == outcome.ReasonNotFound {
		return f.Ended.Command[0]
	}
	return cmp.Or(f.find(notExecuted), f.find(noProgram))
}

// programMissing says what there is instead of a missing program or interpreter.
func programMissing(f Facts) string {
	name := f.missing()
	if name == "" || localFile(f) != "" || bashNeeded(f) != "" || noGPU(f) != "" || notebookPackages(f) != "" || noPrivileges(f) != "" {
		return ""
	}
	if f.Outcome.Reason == outcome.ReasonNotFound {
		if advice := f.needsShell(); advice != "" {
			return advice
		}
	}
	what := "no program " + format.Line(name, 100)
	interpreter, there := f.interpreter(name)
	switch {
	case windows(name), windows(interpreter):
		return "the first line of the script ends as Windows ends lines, so its interpreter is not found: convert it with sed -i 's/\\r$//'"
	case there && interpreter == "":
		return format.Line(name, 100) + " is in the container, but its loader is not: choose a root filesystem that has it with --rootfs"
	case there:
		name = interpreter
		what = "no program " + format.Line(name, 100) + ", which the first line of the script names,"
	case f.find(notExecuted) != "": // subprocess says the same of cwd
		what = "neither a program nor a directory " + format.Line(name, 100)
	}
	base := path.Base(name)
	for _, other := range append([]string{base}, otherNames[base]...) {
		if where := f.program(other); where != "" && where != name {
			return fmt.Sprintf("there is %s in the container, but there is %s", what, where)
		}
	}
	const advice = "add --runtime DIR with a directory whose bin has it, or choose a root filesystem that has it with --rootfs"
	names := f.programs()
	if a := f.Ended.Analysis; a.RootfsDirectory() && len(names) == 0 {
		return fmt.Sprintf("%s has no programs in /usr/bin and /bin: choose a root filesystem with --rootfs", format.Line(f.fromCaller(a.Rootfs), 200))
	}
	if near := spec.NearestWithin(base, names, min(1, len(base)/4)); near != "" && near != base {
		return fmt.Sprintf("there is %s in the container; did you mean %s? Else %s", what, near, advice)
	}
	return fmt.Sprintf("there is %s in the container: %s", what, advice)
}

// needsShell is for a command that only a shell reads.
func (f Facts) needsShell() string {
	name := f.Ended.Command[0]
	words, shell := strings.Fields(name), "sh"
	if name == "source" {
		shell = "bash"
	}
	switch {
	case slices.Contains(ofShell, name):
		return fmt.Sprintf("no shell reads the command, and %s is no program: run it with -- %s -c %s", name, shell, format.Line(format.ShellQuote(format.ShellLine(f.Ended.Command...)), 200))
	case assignment().MatchString(name):
		return "no shell reads the command, so this is the name of a program: set a variable with --env " + format.Line(name, 100)
	case len(words) > 1 && (strings.ContainsAny(name, "|&;<>") || slices.Contains(ofShell, words[0]) || f.program(path.Base(words[0])) != ""):
		return "no shell reads the command, so this is the name of one program: run it with -- sh -c " + format.Line(format.ShellQuote(name), 200)
	}
	return ""
}

// programs are the names of what is in the directories of PATH.
func (f Facts) programs() (names []string) {
	add := func(dir string, below ...string) {
		root, err := os.OpenRoot(dir) // a link in it may lead out here, and not in the container
		if err != nil {
			return
		}
		defer root.Close()
		for _, name := range below {
			found, _ := readNames(root, strings.TrimPrefix(name, "/")) // not every root filesystem has each
			names = append(names, found...)
		}
	}
	if runtime := f.Ended.Analysis.Runtime; runtime != "" {
		add(runtime, "bin")
	}
	add(f.Ended.Root, programDirs...)
	return names
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
