package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/spec"
)

// venvConfig is the file that makes a directory a virtual environment (PEP 405). Its "home" is the directory of the
// interpreter that made the environment.
const venvConfig = "pyvenv.cfg"

const (
	maxVenvConfig = 64 << 10 // bytes; a usual one has 200
	maxHops       = 40       // as many links as the kernel follows (path_resolution(7))
)

// python is what the Python of a runtime needs outside of it.
type python struct {
	prefixes []string // of installations; may lead through symbolic links
	hops     []string // where bin/python3 leads, link by link, the program last
}

// findPython follows the interpreter of a runtime to its installation. A runtime without an interpreter has none to find; a venv
// without one is an error.
func findPython(dir *os.File, shown func(path string) bool) (python, error) {
	real, err := os.Readlink(inode.ProcPath(dir))
	if err != nil {
		return python{}, err
	}
	home, isVenv, err := venvHome(dir)
	if err != nil {
		return python{}, err
	}
	start := filepath.Join(real, "bin", "python3")
	if _, err := os.Lstat(start); errors.Is(err, fs.ErrNotExist) {
		start = filepath.Join(real, "bin", "python")
	}
	hops, err := follow(start)
	if err != nil {
		if !isVenv && len(hops) == 0 {
			return python{}, nil // R, Julia
		}
		return python{}, err
	}
	found := python{hops: hops}
	return found, found.findPrefixes(real, home, shown)
}

// findPrefixes finds the installations of the environment's home and of its interpreter. One of both is enough: a home may
// hold nothing but a link to the interpreter.
func (p *python) findPrefixes(dir, home string, shown func(path string) bool) error {
	var bins []string
	if home != "" {
		bins = append(bins, home)
	}
	if last := len(p.hops) - 1; last >= 0 && !isWithin(p.hops[last], dir) {
		bins = append(bins, filepath.Dir(p.hops[last]))
	}
	known := len(bins) == 0
	for _, bin := range bins {
		if shown(bin) {
			known = true
		} else if prefix := filepath.Dir(bin); isPythonPrefix(prefix) {
			known, p.prefixes = true, append(p.prefixes, prefix)
		}
	}
	if !known {
		return fmt.Errorf("the interpreter that it was made with, in %q, is in no Python installation (with a lib/python3.*/os.py); make the environment again with one that is there", bins[0])
	}
	return nil
}

// follow returns the targets of a program's links, one by one. The error of a missing program comes with no hops, that of a
// dangling link with those that exist.
func follow(path string) (hops []string, err error) {
	for range maxHops {
		info, err := os.Lstat(path)
		if err != nil {
			return hops, fmt.Errorf("its interpreter, %q: %w; make the environment again with one that is there", path, inode.Plain(err))
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return hops, nil
		}
		if path, err = next(path); err != nil {
			return hops, fmt.Errorf("its interpreter: %w", err)
		}
		hops = append(hops, path)
	}
	return hops, fmt.Errorf("its interpreter, %q, leads through more than %d links", path, maxHops)
}

// next is where a symbolic link leads, which may be another.
func next(link string) (string, error) {
	target, err := os.Readlink(link)
	if err != nil || filepath.IsAbs(target) {
		return filepath.Clean(target), err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(link))
	return filepath.Join(dir, target), err
}

// isPythonPrefix looks for the standard library below a prefix, as Python does.
func isPythonPrefix(prefix string) bool {
	for _, lib := range []string{"lib", "lib64"} {
		names, err := os.ReadDir(filepath.Join(prefix, lib)) //nolint:forbidigo // it only asks whether there is one
		if err != nil {
			continue
		}
		for _, name := range names {
			if !strings.HasPrefix(name.Name(), "python") && !strings.HasPrefix(name.Name(), "pypy") {
				continue
			}
			if _, err := os.Stat(filepath.Join(prefix, lib, name.Name(), "os.py")); err == nil {
				return true
			}
		}
	}
	return false
}

// venvHome reads "home" of a virtual environment.
func venvHome(dir *os.File) (home string, isVenv bool, err error) {
	f, err := regular.OpenTarget(filepath.Join(inode.ProcPath(dir), venvConfig))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = bounded.ReadFile(f, maxVenvConfig)
	}
	if err != nil {
		return "", true, fmt.Errorf("its %s: %w; make the environment again", venvConfig, inode.Plain(err))
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(key), "home") {
			continue
		}
		if value = strings.TrimSpace(value); !filepath.IsAbs(value) {
			return "", true, fmt.Errorf("the home in its %s is %q, no absolute path; make the environment again", venvConfig, value)
		}
		return filepath.Clean(value), true, nil
	}
	return "", true, fmt.Errorf("its %s names no home, the directory of the interpreter that it was made with; make the environment again", venvConfig)
}

// linksTo are the links to an interpreter that nothing shown has.
func linksTo(hops []string, rows []hostDir, a spec.Analysis) (links []rootfs.Link, err error) {
	for i, path := range hops {
		if i == len(hops)-1 || shownByRoot(path, a) || covered(path, rows, nil) {
			continue
		}
		var hidden error
		if spec.OnScratch(path) {
			hidden = errors.New("nothing but directories can be shown there")
		}
		if err := cmp.Or(spec.CheckOwnPath(path), a.CheckOverlap(path), hidden); err != nil {
			return nil, fmt.Errorf("its interpreter leads through the link %q: %w; or make the environment again with %q", path, err, hops[len(hops)-1])
		}
		links = append(links, rootfs.Link{Path: path, Target: hops[i+1]})
	}
	return links, nil
}
