package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/spec"
)

// script is the run's script: its path inside, and the file that is there, open for reading.
type script struct {
	inside string
	file   *os.File
}

// scriptMax is the greatest script that is taken: it is kept with the run.
const scriptMax = 64 << 20 // bytes

// projectDir is where the project is inside, and the script.
const projectDir = "/analysis"

// openScript opens the script once: what is bound and what is kept are one file. It is bound unless it
// lies in the project, which shows it already.
func (o opener) openScript(set *inputSet, a spec.Analysis, source string) error {
	in, err := set.add("--script", source, path.Join(projectDir, filepath.Base(a.Script)))
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(in.file.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > scriptMax {
		return fmt.Errorf("--script %q is not a regular file of at most %d MiB; give the file to run", a.Script, scriptMax>>20)
	}
	f, err := os.Open(procPath(in.file))
	if err != nil {
		return fmt.Errorf("--script %q: %w", a.Script, plain(err))
	}
	set.script = &script{inside: in.bind.Destination, file: f}
	switch {
	case a.Project != "":
		return set.scriptInProject(a)
	case source != a.Script:
		return o.describe(in) // our own blob
	}
	return o.check(in)
}

// scriptInProject finds the script in the project, by descriptor, and takes it from what is bound.
func (s *inputSet) scriptInProject(a spec.Analysis) error {
	last := len(s.inputs) - 1
	script := s.inputs[last].file
	s.inputs = s.inputs[:last]
	defer script.Close()
	for _, in := range s.inputs {
		if in.bind.Destination != projectDir {
			continue
		}
		rel, err := relative(in.file, script)
		if err == nil {
			s.script.inside = path.Join(projectDir, rel)
			return nil
		}
	}
	return fmt.Errorf("--script %q is not inside --project %q; move it there or leave out --project", a.Script, a.Project)
}

// relative returns the path of an open file relative to an open directory, from which it leads to the
// very file.
func relative(dir, file *os.File) (string, error) {
	top, err := os.Readlink(procPath(dir))
	if err != nil {
		return "", err
	}
	name, err := os.Readlink(procPath(file))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(top, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fs.ErrNotExist
	}
	// From the descriptor down, so that it is what the project's own bind shows.
	fd, err := openBeneath(int(dir.Fd()), rel, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	shown, err := statAt(fd, "")
	if err != nil {
		return "", err
	}
	named, err := statAt(int(file.Fd()), "")
	if err == nil && identityOf(named) != identityOf(shown) {
		err = errGone
	}
	return filepath.ToSlash(rel), err
}
