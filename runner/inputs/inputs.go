package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Input is what the analysis may read of the host: opened once, checked on the descriptor.
type Input struct {
	Flag string // the user's name for it, for messages
	Bind sandbox.Bind
	File *os.File // O_PATH
	Blob string   // the SHA-256 of a blob of the blob store
}

func (in Input) String() string { return fmt.Sprintf("%s %q", in.Flag, in.Bind.Source) }

// Set has the opened files and directories of the host that a run binds, and what is derived from them.
type Set struct {
	Inputs           []Input
	HasData, HasDocs bool
	Script           *Script
	Runtime          *Toolchain // nil: none
}

// Close closes all that was opened.
func (s *Set) Close() error {
	var errs []error
	for _, in := range s.Inputs {
		errs = append(errs, in.File.Close())
	}
	if s.Script != nil {
		errs = append(errs, s.Script.File.Close())
	}
	return errors.Join(errs...)
}

// Opener opens what an analysis names, and refuses what must not or cannot be bound.
type Opener struct {
	Reader   scan.Reader
	Fetch    func(blob spec.Input) (path string, err error) // verified
	Boundary func() (*binds.Boundary, error)                // called only for what is opened: it takes 0.1 ms
}

// Open opens all inputs of an analysis. scriptSource is the file of the script: the named one, or its blob if a run is
// repeated.
func (o Opener) Open(a spec.Analysis, scriptSource string) (_ *Set, err error) {
	set := &Set{}
	defer func() {
		if err != nil {
			err = errors.Join(err, set.Close())
		}
	}()
	for _, d := range []struct {
		flag, source, destination string
		bound                     *bool
	}{
		{"--data", a.Data, "/data", &set.HasData},
		{"--docs", a.Docs, "/docs", &set.HasDocs},
		{"--project", a.Project, projectDir, new(bool)},
	} {
		if d.source == "" || d.source == spec.None {
			continue
		}
		in, err := set.add(d.flag, d.source, d.destination)
		if err == nil {
			err = o.CheckDirectory(in)
		}
		if err != nil {
			return nil, err
		}
		*d.bound = true
	}
	parsed, err := a.ParseInputs()
	if err != nil {
		return nil, err
	}
	for _, p := range parsed {
		if err := o.openOne(set, p); err != nil {
			return nil, err
		}
	}
	if err := o.openRuntime(set, a); err != nil {
		return nil, err
	}
	if a.Script != "" {
		return set, o.openScript(set, a, scriptSource)
	}
	return set, nil
}

// openOne opens an input. A blob may be shown wherever it lies.
func (o Opener) openOne(set *Set, p spec.Input) error {
	digest, blob := p.Digest()
	source := p.Source
	if blob {
		var err error
		if source, err = o.Fetch(p); err != nil {
			return fmt.Errorf("--input %q: %w", p.Source, err)
		}
	}
	in, err := set.add("--input", source, p.Destination)
	if err != nil {
		return err
	}
	if blob {
		in.Blob = digest
		return o.describe(in)
	}
	return o.check(in)
}

// OpenInput opens one source, as root with the rights of who owns the way there. From then on what was opened is bound.
func OpenInput(flag, source, destination string) (in Input, err error) {
	in = Input{Flag: flag, Bind: sandbox.Bind{Source: source, Destination: destination}}
	if in.File, err = userdir.Handle(source); errors.Is(err, fs.ErrNotExist) {
		return in, &MissingError{flag, source}
	} else if err != nil {
		return in, fmt.Errorf("%s: %w", in, inode.Plain(err))
	}
	return in, nil
}

func (s *Set) add(flag, source, destination string) (*Input, error) {
	in, err := OpenInput(flag, source, destination)
	if err != nil {
		return nil, err
	}
	s.Inputs = append(s.Inputs, in)
	return &s.Inputs[len(s.Inputs)-1], nil
}

// Binds are all binds of the run, including a lone script.
func (s *Set) Binds() (binds []sandbox.Bind) {
	for _, in := range s.Inputs {
		binds = append(binds, in.Bind)
	}
	if s.Script != nil && s.Script.Alone != nil {
		binds = append(binds, *s.Script.Alone)
	}
	return binds
}

// CheckDirectory refuses an input that is not a directory, that must not be bound, or that cannot be bound.
func (o Opener) CheckDirectory(in *Input) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(in.File.Fd()), &st); err != nil {
		return err
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFDIR {
		return fmt.Errorf("%s is %s; give a directory", in, regular.KindName(kind))
	}
	return o.check(in)
}

// Check checks a file or directory that is copied into a run as if it were bound.
func (o Opener) Check(flag string, f *os.File) error {
	return o.check(&Input{Flag: flag, Bind: sandbox.Bind{Source: f.Name()}, File: f})
}

// check checks the open descriptor; after it, the bind names the checked inode.
func (o Opener) check(in *Input) error {
	if err := o.describe(in); err != nil {
		return err
	}
	b, t, err := o.KeepOut(in.String(), in.File)
	if err != nil {
		return err
	}
	if !in.Bind.Directory {
		in.Bind.RealPath = t.Path()
		return nil
	}
	if err := b.RefuseMounts(t); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return nil
}

// KeepOut refuses an open file or directory that is out of bounds. name is its name in messages.
func (o Opener) KeepOut(name string, f *os.File) (b *binds.Boundary, t binds.Identity, err error) {
	if b, err = o.Boundary(); err != nil {
		return b, t, err
	}
	t, err = b.Check(name, f)
	return b, t, err
}

// describe fills in the bind of a file or directory that the analysis can read.
func (o Opener) describe(in *Input) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(in.File.Fd()), &st); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && kind != unix.S_IFREG {
		return fmt.Errorf("%s is %s; only files and directories can be bound", in, regular.KindName(kind))
	}
	in.Bind.Directory, in.Bind.Dev, in.Bind.Ino = kind == unix.S_IFDIR, st.Dev, st.Ino
	opens := func() bool {
		mode := uint32(unix.R_OK)
		if in.Bind.Directory {
			mode |= unix.X_OK
		}
		return unix.Faccessat(unix.AT_FDCWD, inode.ProcPath(in.File), mode, unix.AT_EACCESS) == nil
	}
	if err := o.Reader.MayRead(&st, opens); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return nil
}
