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

// MissingPrograms names the programs that an analysis requests and this host lacks: an image, or the directory of a root
// filesystem or of a runtime. It does not check them for damage.
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

// hasImage reports whether a name is an image's. On an error it reports true: the run gives the reason.
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
