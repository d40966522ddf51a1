package hints

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/spec"
)

// maxLooked bounds the entries of a host's directory that a search looks at; maxNamed the names in a sentence.
const (
	maxLooked = 10_000
	maxNamed  = 3
)

var noFile = pattern(`(?m)(?:` + failedWith(`No such file(?: or directory)?`) + `|'([^'\n]+)' does not exist|^Error: Cannot find module '(/[^'\n]+)'$)`) // the last is of Node.js

// sought is the file that the analysis did not find, as seen from the working directory, "" if the message says more.
func (f Facts) sought() string {
	if noDirectory(f) != "" || changesDir(f) != "" || f.find(noProgram) != "" || f.find(notExecuted) != "" {
		return ""
	}
	name := f.find(noFile)
	if name == "" {
		return ""
	}
	if drive().MatchString(name) {
		return slashes.Replace(name)
	}
	return f.inWork(name)
}

// drive begins a path of Windows, which Python prints with its backslashes doubled.
var (
	drive   = pattern(`^[A-Za-z]:[\\/]`)
	slashes = strings.NewReplacer(`\\`, "/", `\`, "/")
)

// localFile explains why the analysis does not see a file next to the caller, or elsewhere on the host.
func localFile(f Facts) string {
	a, word := f.Ended.Analysis, f.sought()
	if f.Outcome.Reason == outcome.ReasonNotFound && len(a.Command) > 0 {
		word = a.Command[0]
	}
	if word == "" || !f.exited() || f.Caller.Dir == "" || !f.unseen(word) {
		return ""
	}
	why := format.Line(word, 200) + " is in your directory, which the analysis does not see: "
	if filepath.IsAbs(word) {
		why = format.Line(word, 200) + " is on the host, and the analysis does not see it: "
	}
	if spec.HasInterpreter(word) || a.Command != nil && a.Command[0] == word {
		project, inside := ".", path.Clean(word)
		if path.IsAbs(word) {
			project, inside = path.Split(inside)
		}
		return why + fmt.Sprintf("run it with --script %s, or with --project %s as /analysis/%s", format.ShellQuote(word), format.ShellQuote(path.Clean(project)), inside)
	}
	why += fmt.Sprintf("to read it, add --input %s and open /inputs/%s", format.ShellQuote(word), path.Base(word))
	if advice := f.needsRootfs(word); advice != "" {
		why += "; " + advice
	}
	return why
}

// shown reports whether a relative path is below a link that /work has.
func (f Facts) shown(name string) bool {
	first, _, deep := strings.Cut(filepath.Clean(name), "/")
	return deep && (first == "data" && f.Ended.HasData || first == "docs" && f.Ended.HasDocs)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// pathInside says where a file is inside that the analysis looked for under another name.
func pathInside(f Facts) string {
	name := f.sought()
	if name == "" || localFile(f) != "" {
		return ""
	}
	for _, host := range []string{name, filepath.Join(f.Caller.Dir, name)} {
		if inside := f.inside(host); inside != "" && exists(host) {
			return fmt.Sprintf("%s is %s inside", format.Line(name, 200), format.Line(inside, 200))
		}
	}
	for _, b := range bound(f.Ended.Analysis) {
		if rest, found := b.holds(name); found {
			return fmt.Sprintf("there is no %s inside, but there is %s", format.Line(name, 200), format.Line(path.Join(b.inside, rest), 200))
		}
	}
	return ""
}

// noData says how to show a directory if the analysis looked for files in one that it does not have.
func noData(f Facts) string {
	name := f.sought()
	if name == "" || localFile(f) != "" || pathInside(f) != "" {
		return ""
	}
	for _, d := range []struct {
		dir   string
		there bool
	}{{"data", f.Ended.HasData}, {"docs", f.Ended.HasDocs}} {
		first, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
		if first != d.dir || d.there {
			continue
		}
		advice := fmt.Sprintf("this run has no /%[1]s: pass a directory with --%[1]s DIR (%[1]s: DIR in a manifest)", d.dir)
		if dir := path.Dir(name); f.makes(name) && dir != "." {
			advice += fmt.Sprintf("; to write %s, first create its directory, with %s", format.Line(name, 200), f.makeDir(dir))
		}
		return advice
	}
	return ""
}

// shownDir is a path of the host and where the analysis sees it.
type shownDir struct{ host, inside string }

// below is the rest of a path below one of two paths, "." if they are the same.
func below(name, dir string) (rest string, found bool) {
	rest, err := filepath.Rel(dir, name)
	return rest, err == nil && filepath.IsLocal(rest)
}

// inside is where the analysis sees a path of the host, "" if it does not.
func (f Facts) inside(host string) string {
	for _, b := range bound(f.Ended.Analysis) {
		if rest, found := below(host, b.host); found {
			return path.Join(b.inside, rest)
		}
	}
	return ""
}

// outside is what a path inside is on the host: the bound directory, and the path below that.
func (f Facts) outside(name string) (b shownDir, rest string, found bool) {
	if f.shown(name) {
		name = "/" + name
	}
	for _, b := range bound(f.Ended.Analysis) {
		if rest, found := below(name, b.inside); found {
			return b, rest, true
		}
	}
	return shownDir{}, "", false
}

func bound(a spec.Analysis) (list []shownDir) {
	for _, d := range []shownDir{{a.Data, "/data"}, {a.Docs, "/docs"}, {a.Project, "/analysis"}} {
		if filepath.IsAbs(d.host) {
			list = append(list, d)
		}
	}
	for _, text := range a.Inputs {
		if in, err := spec.ParseInput(text); err == nil && filepath.IsAbs(in.Source) {
			list = append(list, shownDir{in.Source, in.Destination})
		}
	}
	return list
}

// holds looks for a name: as a path below the directory, then only by its last part.
func (b shownDir) holds(name string) (rest string, found bool) {
	if filepath.IsLocal(name) && isRegular(filepath.Join(b.host, name)) {
		return name, true
	}
	if base := filepath.Base(name); base != "." && base != "/" {
		return b.search(base, maxLooked)
	}
	return "", false
}

// search looks for a file of that name among so many entries: a directory may have millions.
func (b shownDir) search(base string, left int) (rest string, found bool) {
	if filepath.Base(b.host) == base && isRegular(b.host) {
		return ".", true
	}
	for dirs := []string{"."}; len(dirs) > 0 && left > 0; dirs = dirs[1:] {
		entries := b.read(dirs[0], left)
		left -= len(entries)
		for _, entry := range entries {
			name := filepath.Join(dirs[0], entry.Name())
			switch {
			case strings.EqualFold(entry.Name(), base) && entry.Type().IsRegular():
				return name, true
			case entry.IsDir():
				dirs = append(dirs, name)
			}
		}
	}
	return "", false
}

// read returns at most limit entries of a directory below b.
func (b shownDir) read(dir string, limit int) []fs.DirEntry {
	f, err := os.OpenFile(filepath.Join(b.host, dir), os.O_RDONLY|unix.O_DIRECTORY, 0) // anything else could block
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(limit) // what could be read will do
	return entries
}

// temporary are names that programs give to their own files.
var temporary = pattern(`^(?:tmp[\w.-]{6,}|Rtmp\w+|pymp-.*|jl_\w+|matplotlib-.*|joblib.*|numba.*|hsperfdata.*|__pycache__|ipykernel.*|pip-.*|\w*\.lock)$`)

func filesLost(f Facts) string {
	if f.Outcome.State != outcome.Complete && f.Outcome.State != outcome.Failed {
		return ""
	}
	left := slices.DeleteFunc(slices.Clone(f.Ended.Exit.Scratch), func(name string) bool { return anyPart(temporary(), name) })
	if len(left) == 0 {
		return ""
	}
	slices.Sort(left)
	return fmt.Sprintf("not kept: %s; only what is written to /work, the current directory, is kept", named(left))
}

func anyPart(e *regexp.Regexp, name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), e.MatchString)
}

// named lists the first names.
func named(names []string) string {
	text := format.Line(strings.Join(names[:min(len(names), maxNamed)], ", "), 300)
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func nothingExported(f Facts) string {
	if f.Outcome.State != outcome.Complete || f.Ended.Analysis.Export == "" || f.Outputs > 0 {
		return ""
	}
	return "the analysis left nothing to export in /work, the current directory: only scidex-result.json is exported"
}

func outputMissing(f Facts) string {
	if f.Outcome.Reason != outcome.ReasonOutputMissing {
		return ""
	}
	if len(f.Listed) == 0 {
		return "the analysis wrote nothing to /work, the current directory"
	}
	return "the analysis wrote " + named(f.Listed)
}
