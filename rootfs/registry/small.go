package registry

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// maxSmall bounds a file of certificates or credentials in bytes.
const maxSmall = 1 << 20

func irregular(path string) error { return fmt.Errorf("%q is no regular file; take it away", path) }

// readSmall reads a regular file, through symbolic links, and as root with the rights of the owners of the directories
// on the way. It does not wait for the writer of a FIFO.
func readSmall(path string) ([]byte, fs.FileInfo, error) {
	f, err := userdir.ReadAny(path)
	if errors.Is(err, unix.EISDIR) {
		return nil, nil, irregular(path)
	}
	if named := new(fs.PathError); errors.As(err, &named) {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: named.Err} // not the path that a link leads to
	} else if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, irregular(path)
	}
	data, err := bounded.ReadFile(f, maxSmall)
	if err != nil {
		err = fmt.Errorf("%w; take it away", err)
	}
	return data, info, err
}
