package hints

import (
	"fmt"
	"path"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

var (
	// noParent finds the name of a missing directory in a message, and notMade that of a file in a missing directory.
	noParent = pattern(`(?m)(?:into a non-existent directory: '([^'\n]+)'|Cannot find directory '([^'\n]+)'|cannot create directory ['‘]([^'’\n]+)['’]: No such file)`)
	notMade  = pattern(`(?m)(?:cannot (?:create|touch) (?:regular file )?['‘]?([^'’:\n]+)['’]?: (?:Directory nonexistent|No such file or directory)|` +
		`^tee: ['‘]?([^'’:\n]+)['’]?: No such file)`)
)

// noDirectory says how to create a directory that is missing, if the analysis failed because it wrote a file there.
func noDirectory(f Facts) string {
	dir := f.find(noParent)
	if name := f.find(notMade); dir == "" && name != "" {
		dir = path.Dir(name)
	}
	dir = f.inWork(dir)
	switch {
	case dir == "." || changesDir(f) != "" || f.shown(dir+"/."):
		return ""
	case !f.makes(dir):
		return fmt.Sprintf("there is no directory %s in the container: write to the current directory, %s", format.Line(dir, 200), f.Ended.Analysis.StartDir())
	}
	return fmt.Sprintf("there is no directory %s%s: create it first, with %s", format.Line(dir, 200), f.where(dir), f.makeDir(dir))
}

// inWork is a path as seen from the working directory.
func (f Facts) inWork(name string) string {
	name = path.Clean(name)
	for _, work := range f.Ended.Analysis.WorkDirs() {
		name = strings.TrimPrefix(name, work+"/")
	}
	return name
}

// makes reports whether the analysis may make files at a path.
func (f Facts) makes(name string) bool {
	return !path.IsAbs(name) && !drive().MatchString(name) || strings.HasPrefix(name, "/tmp/")
}

// where says that a path is in the working directory, which has nothing at the start.
func (f Facts) where(name string) string {
	if path.IsAbs(name) || f.Ended.Analysis.Stage != "" {
		return ""
	}
	return " in " + f.Ended.Analysis.StartDir() + ", which is empty at the start"
}

// makeDir is how to create a directory in the language that failed.
func (f Facts) makeDir(dir string) string {
	switch failed := f.Ended.StderrEnd; {
	case strings.Contains(failed, "Traceback (most recent call last):"):
		return fmt.Sprintf("os.makedirs(%q, exist_ok=True)", dir)
	case strings.Contains(failed, "Execution halted"):
		return fmt.Sprintf("dir.create(%q, recursive = TRUE)", dir)
	}
	return "mkdir -p " + format.ShellQuote(dir)
}
