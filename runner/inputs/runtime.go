package inputs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Toolchain is a runtime: the directory of programs that comes first in PATH, and how it is shown.
type Toolchain struct {
	Dir      string // inside and on the host
	Variable string // holds dir: VIRTUAL_ENV or CONDA_PREFIX, else empty
	// Links replace paths of an interpreter that are not bound. Each leads to the path where the interpreter is bound.
	Links []rootfs.Link
}

// hostDir is a directory of the host that is shown at its own path.
type hostDir struct {
	flag string // its name in messages
	path string // may end in or lead through symbolic links
}

// openRuntime opens the runtime, and for an environment the prefix of its interpreter. Each is shown at the given path and
// at its real one, which programs find in it.
func (o Opener) openRuntime(set *Set, a spec.Analysis) error {
	if a.Runtime == "" || a.Runtime == spec.None {
		return nil
	}
	if spec.IsRuntimeName(a.Runtime) {
		return fmt.Errorf("--runtime %q is the name of no runtime and no directory; write ./%s for a directory", a.Runtime, a.Runtime)
	}
	in, err := OpenInput("--runtime", a.Runtime, a.Runtime)
	if err != nil {
		return err
	}
	defer in.File.Close()
	real, err := filepath.EvalSymlinks(a.Runtime)
	if err != nil {
		return fmt.Errorf("%s: %w", in, inode.Plain(err))
	}
	if strings.Contains(real+a.Runtime, ":") {
		return fmt.Errorf("%s has a colon in its path, which PATH cannot hold; rename it", in)
	}
	set.Runtime = &Toolchain{Dir: a.Runtime}
	if shownByRoot(a.Runtime, a) {
		set.Runtime.Dir = real // a link in /usr may lead through others that are not shown
	}
	if set.Runtime.Variable, err = kindOfRuntime(in); err != nil {
		return err
	}
	base, err := findPython(in.File, func(path string) bool { return shownByRoot(path, a) })
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	dirs := []hostDir{{in.Flag, a.Runtime}}
	for _, prefix := range base.prefixes {
		dirs = append(dirs, hostDir{"base interpreter of --runtime", prefix})
	}
	rows, err := arrange(dirs, a)
	if err != nil {
		return err
	}
	if set.Runtime.Links, err = linksTo(base.hops, rows, a); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return o.bindHostDirs(set, rows)
}

// NotARuntime refuses a file as a runtime. If the file is in an environment's bin, the error names that environment.
func NotARuntime(path string) error {
	switch above := filepath.Dir(path); {
	case filepath.Base(above) == "bin":
		return fmt.Errorf("--runtime %q is a file; give the directory that has it in its bin: --runtime %s", path, filepath.Dir(above))
	case filepath.Ext(path) == ".txt":
		return fmt.Errorf("--runtime %q is a file, and a run installs nothing; install what it lists into a venv first (python3 -m venv DIR; DIR/bin/pip install -r FILE), and give --runtime DIR", path)
	}
	return fmt.Errorf("--runtime %q is not a directory; give that of a venv, of a conda environment, or another with programs in its bin", path)
}

// kindOfRuntime checks that the directory is one of programs, and which variable names it for them.
func kindOfRuntime(in Input) (variable string, err error) {
	within := func(name string) string { return filepath.Join(inode.ProcPath(in.File), name) }
	if info, err := os.Stat(inode.ProcPath(in.File)); err != nil || !info.IsDir() {
		return "", NotARuntime(in.Bind.Source)
	}
	if info, err := os.Stat(within("bin")); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s has no bin directory with programs; give the directory of a venv, of a conda environment, or another that has one", in)
	}
	for _, kind := range []struct{ mark, variable string }{{venvConfig, "VIRTUAL_ENV"}, {"conda-meta", "CONDA_PREFIX"}} {
		if _, err := os.Lstat(within(kind.mark)); err == nil {
			return kind.variable, nil
		}
	}
	return "", nil
}

// arrange returns what to bind of dirs: both paths of each, except what the root filesystem shows already and what lies
// in another of them, which shows there what the host has there.
func arrange(dirs []hostDir, a spec.Analysis) (rows []hostDir, err error) {
	var all []hostDir
	for _, s := range dirs {
		real, err := filepath.EvalSymlinks(s.path)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", s.flag, s.path, inode.Plain(err))
		}
		all = append(all, s, hostDir{s.flag, real})
	}
	for i, s := range all {
		if shownByRoot(s.path, a) || covered(s.path, all[:i], all[i+1:]) {
			continue
		}
		if err := cmp.Or(spec.CheckOwnPath(s.path), refuseHome(s.path), a.CheckOverlap(s.path)); err != nil {
			return nil, fmt.Errorf("%s %q: %w", s.flag, s.path, err)
		}
		rows = append(rows, s)
	}
	return rows, nil
}

// covered reports whether a path is one that came before, or lies below any other.
func covered(path string, before, after []hostDir) bool {
	for _, s := range before {
		if isWithin(path, s.path) {
			return true
		}
	}
	for _, s := range after {
		if path != s.path && isWithin(path, s.path) {
			return true
		}
	}
	return false
}

// shownByRoot reports whether the host's own root filesystem shows a path, itself or as a link.
func shownByRoot(path string, a spec.Analysis) bool {
	return a.Rootfs == spec.RootfsHost && rootfs.HostShows(path)
}

// refuseHome refuses the caller's home directory, which holds more than programs.
func refuseHome(path string) error {
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	if err == nil && home != "/" && isWithin(home, path) {
		return fmt.Errorf("it is or holds your home directory, %q, and an analysis should see no more of that than it needs: install it in a directory of its own", home)
	}
	return nil
}

// isWithin reports whether path is dir or lies below it; both are clean and absolute.
func isWithin(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func (o Opener) bindHostDirs(set *Set, rows []hostDir) error {
	for _, row := range rows {
		real, err := filepath.EvalSymlinks(row.path)
		if err != nil {
			return fmt.Errorf("%s %q: %w", row.flag, row.path, inode.Plain(err))
		}
		in, err := set.add(row.flag, real, row.path)
		if err == nil {
			err = o.CheckDirectory(in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
