package plan

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Named checks what requests name, long before they run: that files, directories and images are there and of the right kind.
// New checks the rest, such as what may be shown. Paths are absolute.
type Named struct {
	Root      string // phase.Host.Root
	Overwrite bool   // as in request.Request
}

// Check returns the first error, as New would.
func (n Named) Check(a spec.Analysis) error {
	return first(
		func() error { _, err := outputs.NewDeclared(a.Outputs); return err },
		func() error { return directories(a) },
		func() error { return namedInputs(a) },
		func() error { return n.image(a) },
		func() error { return script(a.Script) },
		func() error { return checkExport(a.Export, n.Overwrite) },
	)
}

func directories(a spec.Analysis) error {
	named := []struct{ flag, path string }{
		{"--data", a.Data}, {"--docs", a.Docs}, {"--project", a.Project}, {"--stage", a.Stage}, {"--runtime", a.Runtime},
	}
	if a.RootfsDirectory() {
		named = append(named, struct{ flag, path string }{"--rootfs", a.Rootfs})
	}
	for _, one := range named {
		if !filepath.IsAbs(one.path) { // unset, none, or a name that New refuses
			continue
		}
		if info, err := look(one.flag, one.path); err != nil {
			return err
		} else if !info.IsDir() && one.flag == "--runtime" {
			return inputs.NotARuntime(one.path)
		} else if !info.IsDir() {
			return fmt.Errorf("%s %q is no directory; give a directory", one.flag, one.path)
		}
	}
	return nil
}

func namedInputs(a spec.Analysis) error {
	parsed, err := a.ParseInputs()
	if err != nil {
		return err
	}
	for _, in := range parsed {
		if _, blob := in.Digest(); blob {
			continue
		}
		if _, err := look("--input", in.Source); err != nil {
			return err
		}
	}
	return nil
}

// image looks an image up. Without a store there is none, and none is made.
func (n Named) image(a spec.Analysis) error {
	if !a.RootfsImage() {
		return nil
	}
	dir := filepath.Join(n.Root, ImagesDir)
	if !workspace.Exists(dir) {
		return fmt.Errorf("--rootfs: %w", &image.UnknownError{Name: a.Rootfs})
	}
	store, err := image.Open(dir)
	if err == nil {
		err = store.Known(a.Rootfs)
	}
	if err != nil {
		return fmt.Errorf("--rootfs: %w", err)
	}
	return nil
}

// script checks that a script can be read and has an interpreter.
func script(path string) error {
	if path == "" {
		return nil
	}
	info, err := look("--script", path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > inputs.ScriptMax {
		return inputs.NotAScript(path)
	}
	f, err := userdir.ReadAny(path)
	if err != nil {
		return fmt.Errorf("--script %q: %w", path, inode.Plain(err))
	}
	defer f.Close()
	line, err := spec.FirstLine(io.NewSectionReader(f, 0, inputs.ScriptMax)) // it does not wait for a FIFO that has replaced it
	if err != nil {
		return fmt.Errorf("--script %q: %w", path, err)
	}
	_, err = spec.Interpreter(path, line)
	return err
}

// look is what is at a path; it opens nothing, which a FIFO would block.
func look(flag, path string) (os.FileInfo, error) {
	in, err := inputs.OpenInput(flag, path, "")
	if err != nil {
		return nil, inputs.Likely(err)
	}
	defer in.File.Close()
	return in.File.Stat()
}
