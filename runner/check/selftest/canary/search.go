package canary

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check/attacks"
)

// createBelow tries to create a file in every directory below root. It lists those in which that was not refused.
func createBelow(root string, skip []string) Outcome {
	found := Outcome{Got: map[string]string{}}
	var w walk
	for dir, kind := range w.below(root, skip) {
		if !kind.IsDir() {
			continue
		}
		found.Count++
		if result := errorName(create(dir)); !attacks.Held("write", result) {
			found.list(dir, result)
		}
	}
	found.Partial = found.Partial || w.partial
	return found
}

// connectBelow tries to connect to every unix socket and to open every FIFO below root. It lists all of them.
func connectBelow(root string, skip []string) Outcome {
	found := Outcome{Got: map[string]string{}}
	var w walk
	for name, kind := range w.below(root, skip) {
		switch {
		case kind&fs.ModeSocket != 0:
			found.list(name, "socket "+errorName(connectSocket(name)))
		case kind&fs.ModeNamedPipe != 0:
			found.list(name, "fifo "+errorName(openTo(name, unix.O_RDWR)))
		}
	}
	found.Count, found.Partial = w.entries, found.Partial || w.partial
	return found
}

// readAny reads a link, a name in a directory, or the first byte of a file.
func readAny(name string) error {
	if target, err := os.Readlink(name); err == nil && target != "" && !strings.HasSuffix(name, "/") {
		return nil
	} else if !errors.Is(err, unix.EINVAL) {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		_, err = f.Readdirnames(1)
	} else {
		_, err = f.Read(make([]byte, 1))
	}
	return err
}

// openAny opens the entries of a directory until one can be opened. In a user namespace with a single id the descriptors of
// init can be listed, but none can be opened.
func openAny(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	err = unix.ENOENT
	for _, e := range entries {
		var f *os.File
		if f, err = os.Open(path.Join(dir, e.Name())); err == nil {
			return f.Close()
		}
	}
	return err
}
