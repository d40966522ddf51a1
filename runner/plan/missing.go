package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// MissingPrograms names the programs that an analysis asks for and that are not on this host: an image, or the directory of a root
// filesystem or of a runtime. What is there may be damaged all the same.
func MissingPrograms(host *phase.Host, a spec.Analysis) (all []string) {
	a = a.WithDefaults()
	switch dir := filepath.Join(host.Root, ImagesDir); {
	case a.RootfsDirectory():
		if isMissing(a.Rootfs) {
			all = append(all, fmt.Sprintf("rootfs %s", a.Rootfs))
		}
	case a.Rootfs != spec.RootfsHost && !hasImage(dir, a.Rootfs):
		all = append(all, fmt.Sprintf("image %s", a.Rootfs))
	}
	if a.Runtime != "" && a.Runtime != spec.None && isMissing(a.Runtime) {
		all = append(all, fmt.Sprintf("runtime %s", a.Runtime))
	}
	return all
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

// hasImage reports whether a name is an image's. What cannot be told is left to the run, which says why.
func hasImage(dir, name string) bool {
	if !workspace.Exists(dir) {
		return false
	}
	store, err := image.Open(dir)
	if err != nil {
		return true
	}
	var unknown *image.UnknownError
	return !errors.As(store.Known(name), &unknown)
}
