package hints

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

var (
	// noParent is a directory that is not there; notMade a file below one.
	noParent = pattern(`(?m)(?:into a non-existent directory: '([^'\n]+)'|Cannot find directory '([^'\n]+)'|cannot create directory ['‘]([^'’\n]+)['’]: No such file)`)
	notMade  = pattern(`(?m)(?:cannot (?:create|touch) (?:regular file )?['‘]?([^'’:\n]+)['’]?: (?:Directory nonexistent|No such file or directory)|` +
		`^tee: ['‘]?([^'’:\n]+)['’]?: No such file)`)
	// notOpened is a file that was read or written.
	notOpened = pattern(`(?m)(?:FileNotFoundError: [^\n]*: '([^'\n]+)'|(?:cannot open|cannot open compressed|could not open) file '([^'\n]+)'|` +
		`: line \d+: ([^:\n]+): No such file or directory)`)
	writing = pattern(`open\([^\n]*['"][wax][bt+]{0,2}['"]|\bmode=['"][wax]|\.(?:save\w*|dump|write_\w+)\(|\.to_(?:csv|excel|feather|file|hdf|html|json|latex|netcdf|parquet|pickle|zarr)\(|` +
		`\b(?:write[._]\w+|mkdir\()|\b(?:saveRDS|save|ggsave|sink|pdf|png|svg|jpeg|tiff)\(|"wb?"|gzfile\(file, mode\)|plot\.new\(`)
)

// noDirectory says how to create the directory of a file that the analysis wanted to write.
func noDirectory(f Facts) string {
	dir := path.Clean(f.missingDir())
	for _, work := range f.Ended.Analysis.WorkDirs() {
		dir = strings.TrimPrefix(dir, work+"/")
	}
	switch {
	case changesDir(f) != "":
		return ""
	case dir == "." || f.shown(dir+"/."):
		return ""
	case path.IsAbs(dir) && !strings.HasPrefix(dir, "/tmp/"):
		return fmt.Sprintf("there is no directory %s in the container: write to the current directory, %s", format.Line(dir, 200), f.Ended.Analysis.StartDir())
	}
	where := " in " + f.Ended.Analysis.StartDir() + ", which is empty at the start"
	if path.IsAbs(dir) || f.Ended.Analysis.Stage != "" {
		where = ""
	}
	return fmt.Sprintf("there is no directory %s%s: create it first, with %s", format.Line(dir, 200), where, f.makeDir(dir))
}

// missingDir is the directory that a write lacked, "" or "." without one.
func (f Facts) missingDir() string {
	if dir := f.find(noParent); dir != "" {
		return dir
	}
	if name := f.find(notMade); name != "" {
		return path.Dir(name)
	}
	if name := f.find(notOpened); name != "" && f.writes(name) {
		return path.Dir(name)
	}
	return ""
}

// writes reports whether what failed wanted to write the file: the messages of Python, R and bash do not say it.
func (f Facts) writes(name string) bool {
	failed := f.Ended.StderrEnd
	if i := strings.LastIndex(failed, "Traceback (most recent call last):"); i >= 0 {
		failed = failed[i:]
	}
	source := f.source()
	redirected, err := regexp.MatchString(`>\s*["']?`+regexp.QuoteMeta(name), source)
	inline := strings.Contains(failed, `File "<string>"`) && writing().MatchString(source) // its traceback has no lines
	return inline || writing().MatchString(failed) || err == nil && redirected
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
