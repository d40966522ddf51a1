package selftest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// directory holds the files of the canaries: the program, their orders and the turn.
type directory struct{ probe.Dir }

// dirPrefix starts the name of every directory.
const dirPrefix = "scidex-oci-"

// makeDirectory makes it in tmp and removes what killed selftests left there. It cannot be below the root, which is hidden
// from runs.
func makeDirectory(tmp, id string) (d directory, err error) {
	if _, err := Sweep(tmp, false); err != nil {
		return d, err
	}
	if d.Dir, err = probe.MakeDir(filepath.Join(tmp, dirPrefix+id)); err != nil {
		return d, err
	}
	if err = copyProgram(d.file("canary")); err != nil {
		err = fmt.Errorf("copy this program for the canary: %w", err)
	} else {
		err = d.write("turn", nil)
	}
	if err != nil {
		err = errors.Join(err, d.Remove())
	}
	return d, err
}

func (d directory) file(name string) string { return filepath.Join(d.Path, name) }

// write writes a file that every id can read. It keeps the inode, which the canaries have bound.
func (d directory) write(name string, text []byte) error {
	f, err := os.OpenFile(d.file(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // only the caller can enter the directory
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	// The umask may have removed bits.
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

// copyProgram copies the running executable, which the ids of a run may not be able to read.
func copyProgram(to string) (err error) {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // only the caller can enter the directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, program); err != nil {
		return err
	}
	return f.Chmod(0o755)
}

// Sweep removes what killed selftests of the caller left in tmp. With dry it only returns what it would remove.
func Sweep(tmp string, dry bool) (removed []string, err error) {
	return lockdir.Sweep(tmp, dirPrefix+"selftest-", dry, nil)
}
