package hints

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// noCommand is the exit code of programs that start others, if those are not there (POSIX, env, xargs, timeout).
const noCommand = 127

// ofSystem is a path where programs have their own files, and nobody data.
var ofSystem = pattern(`^/(?:bin|dev|etc|lib\w*|opt|proc|root|run|sbin|sys|usr|var)/`)

// ofHost is a path of which the root filesystem of the host has only some parts (rootfs.Host).
var ofHost = pattern(`^/(?:etc|var)/`)

// needsRootfs says how a program gets its own files in /etc and /var.
func (f Facts) needsRootfs(name string) string {
	if a := f.Ended.Analysis; a.RootfsImage() || a.RootfsDirectory() || !ofHost().MatchString(name) {
		return ""
	}
	return "of the host's /etc and /var runs have only what most programs need: if a program needs more, choose a root filesystem that has it with --rootfs"
}

// noSuchFile says what a directory of inputs has, if the analysis looked in it for a file that it does not have. Elsewhere
// its advice is for a file that was to be read as for one that was to be written: most messages do not say which.
func noSuchFile(f Facts) string {
	name := f.sought()
	if name == "" || localFile(f) != "" || pathInside(f) != "" || noData(f) != "" {
		return ""
	}
	if b, rest, found := f.outside(name); found && b.inside != "/analysis" {
		return f.lacks(b, rest)
	}
	if rest, below := strings.CutPrefix(name, "/inputs/"); below {
		return f.noSuchInput(rest)
	}
	switch dir := path.Dir(name); {
	case dir == "." && f.Outcome.ExitCode == noCommand:
		return "" // a program that starts others did not find one
	case dir == ".":
		return fmt.Sprintf("there is no %s%s: pass what is to be read with --input FILE, and open /inputs/%s", format.Line(name, 200), cmp.Or(f.where(name), " in "+f.Ended.Analysis.StartDir()), format.Line(name, 200))
	case f.makes(name):
		return fmt.Sprintf("there is no %s%s: to write it, first create its directory, with %s", format.Line(name, 200), f.where(name), f.makeDir(dir))
	}
	if advice := f.needsRootfs(name); advice != "" {
		return fmt.Sprintf("there is no %s in the container: %s", format.Line(name, 200), advice)
	}
	if dir := f.Ended.Analysis.Data; filepath.IsAbs(dir) && !ofSystem().MatchString(name) {
		if data := f.lacks(shownDir{dir, "/data"}, path.Base(name)); data != "" {
			return fmt.Sprintf("there is no %s in the container: %s", format.Line(name, 200), data)
		}
	}
	return fmt.Sprintf("there is no %s in the container: pass what is to be read with --data DIR or --input FILE, and write to the current directory, %s",
		format.Line(name, 200), f.Ended.Analysis.StartDir())
}

// lacks says what is in the deepest directory on the way to a file that is there.
func (f Facts) lacks(b shownDir, rest string) string {
	root, err := os.OpenRoot(b.host) // a link in it may lead out here, and not in the container
	if err != nil {
		return ""
	}
	defer root.Close()
	dir, wanted, more := ".", rest, ""
	for {
		var first string
		var deep bool
		first, more, deep = strings.Cut(wanted, "/")
		if info, err := root.Stat(path.Join(dir, first)); err != nil || !info.IsDir() || !deep {
			wanted = first
			break
		}
		dir, wanted = path.Join(dir, first), more
	}
	names, err := readNames(root, dir)
	switch {
	case err != nil:
		return ""
	case slices.Contains(names, wanted):
		return f.leadsOut(b, path.Join(dir, wanted), more)
	}
	return fmt.Sprintf("%s is %s on the host, which %s", format.Line(path.Join(b.inside, dir), 200), format.Line(f.fromCaller(path.Join(b.host, dir)), 200), has(names, wanted))
}

// leadsOut is for a link to what the analysis does not see, or sees elsewhere; rest is below what it leads to.
func (f Facts) leadsOut(b shownDir, name, rest string) string {
	link := format.Line(path.Join(b.inside, name), 200)
	target, err := filepath.EvalSymlinks(filepath.Join(b.host, name))
	if err != nil {
		return link + " is a link that leads nowhere on the host either"
	}
	target = format.Line(target, 200)
	if inside := f.inside(target); inside != "" {
		return fmt.Sprintf("%s is a link to %s, which is %s inside: open %s", link, target, inside, path.Join(inside, rest))
	}
	return fmt.Sprintf("%s is a link to %s, which the analysis does not see: add --input %s and open %s",
		link, target, format.ShellQuote(target), path.Join("/inputs", path.Base(target), rest))
}

func readNames(root *os.Root, dir string) ([]string, error) {
	f, err := root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxLooked)
	slices.Sort(names)
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return names, err
}

// fromCaller is a path of the host as the caller would write it.
func (f Facts) fromCaller(name string) string {
	if rest, err := filepath.Rel(f.Caller.Dir, name); err == nil && rest != "." && filepath.IsLocal(rest) {
		return rest
	}
	return name
}

// has names what is there, best the name that was meant.
func has(names []string, wanted string) string {
	visible := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, ".") })
	if near := spec.Nearest(wanted, visible); near != "" {
		visible = []string{near}
	}
	if len(visible) == 0 {
		return "is empty"
	}
	return fmt.Sprintf("has %s, but no %s", named(visible), format.Line(wanted, 200))
}

func (f Facts) noSuchInput(rest string) string {
	wanted, _, _ := strings.Cut(rest, "/")
	var names []string
	for _, text := range f.Ended.Analysis.Inputs {
		in, err := spec.ParseInput(text)
		if name, below := strings.CutPrefix(in.Destination, "/inputs/"); err == nil && below {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "this run has no /inputs: pass a file with --input FILE, and read it as /inputs/FILE"
	}
	return fmt.Sprintf("/inputs %s: pass it with --input FILE", has(names, wanted))
}
