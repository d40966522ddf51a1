package inputs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Script is the run's script.
type Script struct {
	Inside string   // its path there
	File   *os.File // open for reading
	Mode   fs.FileMode
	// Alone is the script if no project shows it: a run gets a copy of the kept script, and a bundle binds it.
	Alone *sandbox.Bind
}

// ScriptMax is the maximum size of a script: it is kept with the run.
const ScriptMax = 64 << 20 // bytes

// NotAScript refuses what is no file or too large.
func NotAScript(path string) error {
	return fmt.Errorf("--script %q is not a regular file of at most %d MiB; give the file to run", path, ScriptMax>>20)
}

// projectDir is where the project is inside, and the script.
const projectDir = "/analysis"

// openScript opens the script once: one file is checked, kept and run.
func (o Opener) openScript(set *Set, a spec.Analysis, source string) error {
	in, err := OpenInput("--script", source, path.Join(projectDir, filepath.Base(a.Script)))
	if err != nil {
		return err
	}
	defer in.File.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(in.File.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > ScriptMax {
		return NotAScript(a.Script)
	}
	f, err := os.Open(inode.ProcPath(in.File)) //nolint:forbidigo // the inode that was checked
	if err != nil {
		return fmt.Errorf("--script %q: %w", a.Script, inode.Plain(err))
	}
	set.Script = &Script{Inside: in.Bind.Destination, File: f, Mode: fs.FileMode(st.Mode & 0o777)}
	if a.Project != "" {
		return set.scriptInProject(a, in.File)
	}
	set.Script.Alone = &in.Bind
	if source != a.Script {
		return o.describe(&in) // a blob of scidex-oci's
	}
	return o.check(&in)
}

// scriptInProject finds the script in the project, by descriptor.
func (s *Set) scriptInProject(a spec.Analysis, script *os.File) error {
	for _, in := range s.Inputs {
		if in.Bind.Destination != projectDir {
			continue
		}
		rel, err := relative(in.File, script)
		if err == nil {
			s.Script.Inside = path.Join(projectDir, rel)
			return nil
		}
	}
	return fmt.Errorf("--script %q is not inside --project %q; move it there or leave out --project", a.Script, a.Project)
}

// relative returns the path of an open file relative to an open directory, from which it leads to the same file.
func relative(dir, file *os.File) (string, error) {
	top, err := os.Readlink(inode.ProcPath(dir))
	if err != nil {
		return "", err
	}
	name, err := os.Readlink(inode.ProcPath(file))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(top, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fs.ErrNotExist
	}
	// From the descriptor down, so that it is what the project's own bind shows.
	fd, err := beneath.Open(int(dir.Fd()), rel, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	shown, err := inode.Stat(fd, "")
	if err != nil {
		return "", err
	}
	named, err := inode.Stat(int(file.Fd()), "")
	if err == nil && inode.Of(named) != inode.Of(shown) {
		err = fs.ErrNotExist
	}
	return filepath.ToSlash(rel), err
}
