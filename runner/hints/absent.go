package hints

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// noSuchFile says what a directory of inputs has, where the analysis looked in it for a file that it does not have.
func noSuchFile(f Facts) string {
	name := f.sought()
	if name == "" || f.writes(name) || localFile(f) != "" || pathInside(f) != "" || noData(f) != "" {
		return ""
	}
	if f.shown(name) {
		name = "/" + name
	}
	name = path.Clean(name)
	for _, b := range bound(f.Ended.Analysis) {
		if rest, below := strings.CutPrefix(name, b.inside+"/"); below && b.inside != "/analysis" {
			return f.lacks(b, rest)
		}
	}
	if rest, below := strings.CutPrefix(name, "/inputs/"); below {
		return f.noSuchInput(rest)
	}
	return ""
}

// lacks says what is in the deepest directory on the way to a file that is there.
func (f Facts) lacks(b shownDir, rest string) string {
	root, err := os.OpenRoot(b.host) // a link in it may lead out, where it does not inside
	if err != nil {
		return ""
	}
	defer root.Close()
	dir, wanted := ".", rest
	for {
		first, more, deep := strings.Cut(wanted, "/")
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
		return f.leadsOut(root, path.Join(dir, wanted), path.Join(b.inside, dir, wanted))
	}
	return fmt.Sprintf("%s is %s on the host, which %s", format.Line(path.Join(b.inside, dir), 200), format.Line(f.fromCaller(path.Join(b.host, dir)), 200), has(names, wanted))
}

// leadsOut is for a link to what the analysis does not see.
func (f Facts) leadsOut(root *os.Root, name, inside string) string {
	target, err := root.Readlink(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s is a link to %s, which the analysis does not see: add --input %s", format.Line(inside, 200), format.Line(target, 200), linkInput(target))
}

// linkInput is the value of --input for what a link leads to.
func linkInput(target string) string {
	if path.IsAbs(target) {
		return format.ShellQuote(format.Line(target, 200))
	}
	return "FILE"
}

func readNames(root *os.Root, dir string) ([]string, error) {
	f, err := root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxLooked)
	slices.Sort(names)
	if len(names) > 0 { // else the end of the directory is an error
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
