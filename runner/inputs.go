package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// input is something of the host that the analysis may read: opened once, checked on the descriptor.
type input struct {
	flag string // what the user calls it, for messages
	bind sandbox.Bind
	file *os.File // O_PATH
}

// inputSet is all that a run binds, and what follows from it.
type inputSet struct {
	inputs           []input
	hasData, hasDocs bool
	script           *script
}

// script is the run's script: its path inside, and the file as the caller opened it.
type script struct {
	inside string
	file   *os.File
}

// scriptMax is the greatest script that is taken: it is kept with the run.
const scriptMax = 64 << 20 // bytes

func (s *inputSet) close() error {
	var errs []error
	for _, in := range s.inputs {
		errs = append(errs, in.file.Close())
	}
	if s.script != nil {
		errs = append(errs, s.script.file.Close())
	}
	return errors.Join(errs...)
}

// openInputs opens everything that the analysis names, and refuses what must not or cannot be bound.
// scriptSource is the file of the script: the named one, or its blob where a run is repeated.
func openInputs(a spec.Analysis, scriptSource string, reader reader) (_ *inputSet, err error) {
	set := &inputSet{}
	defer func() {
		if err != nil {
			err = errors.Join(err, set.close())
		}
	}()
	for _, d := range []struct {
		flag, source, destination string
		bound                     *bool
	}{
		{"--data", a.Data, "/data", &set.hasData},
		{"--docs", a.Docs, "/docs", &set.hasDocs},
		{"--project", a.Project, "/analysis", new(bool)},
	} {
		if d.source == "" || d.source == spec.None {
			continue
		}
		if err := set.add(d.flag, d.source, d.destination, reader, true); err != nil {
			return nil, err
		}
		*d.bound = true
	}
	parsed, err := a.ParseInputs()
	if err != nil {
		return nil, err
	}
	for _, in := range parsed {
		if err := set.add("--input", in.Source, in.Destination, reader, false); err != nil {
			return nil, err
		}
	}
	if a.Script != "" {
		return set, set.addScript(a, scriptSource, reader)
	}
	return set, nil
}

// add opens one source and appends it.
func (s *inputSet) add(flag, source, destination string, reader reader, wantDir bool) error {
	f, err := openPath(source)
	if err != nil {
		return fmt.Errorf("%s %q: %w", flag, source, plain(err))
	}
	in := input{flag: flag, bind: sandbox.Bind{Source: source, Destination: destination}, file: f}
	s.inputs = append(s.inputs, in)
	return s.inputs[len(s.inputs)-1].check(reader, wantDir)
}

// check looks at the open descriptor; after it, the bind names the inode that was checked.
func (in *input) check(reader reader, wantDir bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(in.file.Fd()), &st); err != nil {
		return err
	}
	name := fmt.Sprintf("%s %q", in.flag, in.bind.Source)
	kind := st.Mode & unix.S_IFMT
	switch {
	case wantDir && kind != unix.S_IFDIR:
		return fmt.Errorf("%s is %s; give a directory", name, kindName(kind))
	case kind != unix.S_IFDIR && kind != unix.S_IFREG:
		return fmt.Errorf("%s is %s; only files and directories can be bound", name, kindName(kind))
	}
	in.bind.Directory, in.bind.Dev, in.bind.Ino = kind == unix.S_IFDIR, st.Dev, st.Ino
	if err := reader.mayRead(&st); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !in.bind.Directory {
		return nil
	}
	if err := refuseMounts(in.file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	found, err := findSpecial(in.file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if found != nil {
		return fmt.Errorf("%s holds %s, %q, through which the analysis could reach out; remove it or bind another directory",
			name, kindName(found.kind), found.path)
	}
	return nil
}

// addScript binds the script, unless it lies in the project, which shows it already.
func (s *inputSet) addScript(a spec.Analysis, source string, reader reader) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("--script %q: %w", a.Script, plain(err))
	}
	if !info.Mode().IsRegular() || info.Size() > scriptMax {
		return fmt.Errorf("--script %q is not a regular file of at most %d MiB; give the file to run", a.Script, scriptMax>>20)
	}
	f, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("--script %q: %w", a.Script, plain(err))
	}
	s.script = &script{file: f, inside: path.Join("/analysis", filepath.Base(a.Script))}
	if a.Project == "" {
		return s.add("--script", source, s.script.inside, reader, false)
	}
	rel, err := within(a.Project, a.Script)
	if err != nil {
		return fmt.Errorf("--script %q is not inside --project %q; move it there or leave out --project", a.Script, a.Project)
	}
	s.script.inside = path.Join("/analysis", filepath.ToSlash(rel))
	return nil
}

// within returns the path of file relative to dir, with symbolic links resolved.
func within(dir, file string) (string, error) {
	realDir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	realFile, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(realDir, realFile)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fs.ErrNotExist
	}
	return rel, nil
}

func openPath(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// plain drops the path from an error whose message names it already.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		if errors.Is(pathError.Err, unix.ENOENT) {
			return errors.New("does not exist")
		}
		return pathError.Err
	}
	return err
}

func kindName(mode uint32) string {
	switch mode {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFREG:
		return "a file"
	case unix.S_IFSOCK:
		return "a unix socket"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFLNK:
		return "a symbolic link"
	default:
		return "a device"
	}
}

// reader is the id that is to read the inputs.
type reader struct {
	own  bool // the caller's own id: what it could open, the analysis can
	root bool // root calls: there is no --ids self for it
}

// mayRead says whether an id that owns nothing and is in no group can read the file: what counts are
// the bits for others.
func (r reader) mayRead(st *unix.Stat_t) error {
	need := uint32(0o004)
	fix := "chmod o+r"
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		need, fix = 0o005, "chmod o+rx"
	}
	if r.own || st.Mode&need == need {
		return nil
	}
	way := fmt.Sprintf("give it to everyone (%s)", fix)
	if !r.root {
		way += " or run with your own id (--ids self)"
	}
	return fmt.Errorf("the analysis runs with an id of its own, which cannot read it (mode %04o); %s", st.Mode&0o7777, way)
}

// refuseMounts names a mount below the directory: what is mounted there is not what was checked.
func refuseMounts(dir *os.File) error {
	resolved, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err != nil {
		return err
	}
	below := strings.TrimSuffix(resolved, "/") + "/"
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, below), false
	})
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%q is mounted below it; bind that by itself with --input, or a directory without mounts", mounts[0].Mountpoint)
	}
	return nil
}
