package runner

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// input is something of the host that the analysis may read: opened once, checked on the descriptor.
type input struct {
	flag string // what the user calls it, for messages
	bind sandbox.Bind
	file *os.File // O_PATH
	blob string   // its SHA-256 where it is one of the blob store
}

func (in input) String() string { return fmt.Sprintf("%s %q", in.flag, in.bind.Source) }

// inputSet is all that a run binds, and what follows from it.
type inputSet struct {
	inputs           []input
	hasData, hasDocs bool
	script           *script
	runtime          *toolchain // nil: none
}

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

// opener opens what an analysis names, and refuses what must not or cannot be bound.
type opener struct {
	reader   scan.Reader
	fetch    func(blob spec.Input) (path string, err error) // verified
	boundary func() (*binds.Boundary, error)                // called for what is opened only: it takes 0.1 ms
}

// open opens all inputs of an analysis. scriptSource is the file of the script: the named one, or its
// blob where a run is repeated.
func (o opener) open(a spec.Analysis, scriptSource string) (_ *inputSet, err error) {
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
		{"--project", a.Project, projectDir, new(bool)},
	} {
		if d.source == "" || d.source == spec.None {
			continue
		}
		in, err := set.add(d.flag, d.source, d.destination)
		if err == nil {
			err = o.checkDirectory(in)
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

// openOne opens an input. A blob is ours to show, wherever it lies.
func (o opener) openOne(set *inputSet, p spec.Input) error {
	digest, blob := p.Digest()
	source := p.Source
	if blob {
		var err error
		if source, err = o.fetch(p); err != nil {
			return fmt.Errorf("--input %q: %w", p.Source, err)
		}
	}
	in, err := set.add("--input", source, p.Destination)
	if err != nil {
		return err
	}
	if blob {
		in.blob = digest
		return o.describe(in)
	}
	return o.check(in)
}

// openInput opens one source. What is bound from then on is what was opened.
func openInput(flag, source, destination string) (in input, err error) {
	in = input{flag: flag, bind: sandbox.Bind{Source: source, Destination: destination}}
	if in.file, err = inode.Open(source); err != nil {
		return in, fmt.Errorf("%s: %w", in, inode.Plain(err))
	}
	return in, nil
}

func (s *inputSet) add(flag, source, destination string) (*input, error) {
	in, err := openInput(flag, source, destination)
	if err != nil {
		return nil, err
	}
	s.inputs = append(s.inputs, in)
	return &s.inputs[len(s.inputs)-1], nil
}

// binds are all of the run's own, also that of a lone script.
func (s *inputSet) binds() (binds []sandbox.Bind) {
	for _, in := range s.inputs {
		binds = append(binds, in.bind)
	}
	if s.script != nil && s.script.alone != nil {
		binds = append(binds, *s.script.alone)
	}
	return binds
}

func (o opener) checkDirectory(in *input) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(in.file.Fd()), &st); err != nil {
		return err
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFDIR {
		return fmt.Errorf("%s is %s; give a directory", in, inode.KindName(kind))
	}
	return o.check(in)
}

// check looks at the open descriptor; after it, the bind names the inode that was checked.
func (o opener) check(in *input) error {
	if err := o.describe(in); err != nil {
		return err
	}
	b, t, err := o.keepOut(in.String(), in.file)
	if err != nil {
		return err
	}
	if !in.bind.Directory {
		in.bind.Place = t.Path()
		return nil
	}
	if err := b.RefuseMounts(t); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return nil
}

// keepOut refuses an open file or directory that is out of bounds. name is what a message calls it.
func (o opener) keepOut(name string, f *os.File) (b *binds.Boundary, t binds.Trail, err error) {
	if b, err = o.boundary(); err != nil {
		return b, t, err
	}
	t, err = b.Check(name, f)
	return b, t, err
}

// describe fills the bind in, of a file or directory that the analysis can read.
func (o opener) describe(in *input) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(in.file.Fd()), &st); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && kind != unix.S_IFREG {
		return fmt.Errorf("%s is %s; only files and directories can be bound", in, inode.KindName(kind))
	}
	in.bind.Directory, in.bind.Dev, in.bind.Ino = kind == unix.S_IFDIR, st.Dev, st.Ino
	if err := o.reader.MayRead(&st); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return nil
}
