package hints

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

var (
	noProgram   = pattern(`(?m)(?:^(?:/usr/bin/)?env: [‘'"]?([^’'"\n:]+)[’'"]?: No such file|: (?:line )?\d+: ([^:\n]+): (?:command )?not found)`)
	notExecuted = pattern(`(?m), in _execute_child\n(?:[ \t][^\n]*\n)*FileNotFoundError: [^\n]*: '([^'\n]+)'`)
	workingDir  = pattern(`\bcwd=`) // subprocess says that it is missing in the same words
	noNbpy      = pattern(`(Python here cannot run notebooks)`)
)

// programDirs are the directories of PATH in every root filesystem.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// otherNames are names that programs have elsewhere.
var otherNames = map[string][]string{
	"python": {"python3"}, "python2": {"python3"}, "pip": {"pip3"}, "ipython": {"ipython3"}, "node": {"nodejs"}, "nodejs": {"node"},
	"R": {"Rscript"}, "awk": {"gawk", "mawk"}, "gawk": {"awk"}, "bash": {"sh"}, "zsh": {"bash", "sh"}, "vi": {"vim"},
}

// programMissing says what there is in place of a program or an interpreter that is not there.
func programMissing(f Facts) string {
	name := cmp.Or(f.notExecuted(), f.find(noProgram))
	if f.Outcome.Reason == result.ReasonNotFound {
		name = f.Ended.Command[0]
	}
	if name == "" || localFile(f) != "" || bashNeeded(f) != "" || noGPU(f) != "" || notebookPackages(f) != "" || noPrivileges(f) != "" {
		return ""
	}
	if strings.Contains(name, " ") {
		return "program and arguments are one word: leave out the quotes around them"
	}
	base := path.Base(name)
	missing := fmt.Sprintf("there is no program %s in the container", format.Line(name, 100))
	for _, other := range append([]string{base}, otherNames[base]...) {
		if where := f.program(other); where != "" && where != name {
			return fmt.Sprintf("%s, but there is %s", missing, where)
		}
	}
	return missing + ": add --runtime DIR with a directory whose bin has it, or choose a root filesystem that has it with --rootfs"
}

// notExecuted is the program that Python did not find.
func (f Facts) notExecuted() string {
	if workingDir().MatchString(f.Ended.StderrEnd + f.source()) {
		return ""
	}
	return f.find(notExecuted)
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
