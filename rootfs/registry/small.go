package registry

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// maxSmall bounds a file of certificates or credentials in bytes.
const maxSmall = 1 << 20

// readSmall reads a regular file, through symbolic links. It does not wait for the writer of a FIFO.
func readSmall(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%q is no regular file; take it away", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("%q has more than %d bytes; take it away", path, maxSmall)
	}
	return data, info, err
}
