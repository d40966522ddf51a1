package rootmount

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

// putScript copies the script into the root filesystem.
func putScript(root string, s protocol.Script, from *os.File) error {
	if err := rootfs.MountPoint(root, s.Path, false); err != nil {
		return err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.OpenFile(strings.TrimPrefix(s.Path, "/"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// By offset: the launcher's descriptor is at the end of the file.
	_, err = io.Copy(f, io.NewSectionReader(from, 0, math.MaxInt64))
	return errors.Join(err, f.Chmod(s.Mode&0o555|0o444), f.Close())
}
