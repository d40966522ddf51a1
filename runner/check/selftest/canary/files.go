package canary

import (
	"errors"
	"math"
	"os/signal"
	"path"

	"golang.org/x/sys/unix"
)

// fileName of what attempts create.
const fileName = ".scidex-oci-selftest"

// changeDir tries to change a directory. It removes what it creates.
func changeDir(dir string) Outcome {
	return Outcome{Got: map[string]string{
		"create": errorName(create(dir)),
		"mkdir":  errorName(makeDir(dir)),
		"chmod":  errorName(chmodSame(dir)),
	}}
}

// changeFile tries to change a file in ways that leave it unchanged if they succeed.
func changeFile(file string) Outcome {
	return Outcome{Got: map[string]string{
		"write":    errorName(openTo(file, unix.O_WRONLY)),
		"append":   errorName(openTo(file, unix.O_WRONLY|unix.O_APPEND)),
		"truncate": errorName(truncate(file)),
		"remove":   errorName(remove(file)),
		"chmod":    errorName(chmodSame(file)),
	}}
}

func create(dir string) error {
	name := path.Join(dir, fileName)
	if err := openTo(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL); err != nil {
		return err
	}
	return unix.Unlink(name)
}

func makeDir(dir string) error {
	name := path.Join(dir, fileName)
	if err := unix.Mkdir(name, 0o700); err != nil {
		return err
	}
	return unix.Rmdir(name)
}

// chmodSame sets the mode that a file has.
func chmodSame(name string) error {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return err
	}
	return unix.Chmod(name, st.Mode&0o7777)
}

func openTo(name string, flags int) error {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// truncate asks for a length that an rlimit forbids. The kernel checks permissions before the rlimit (truncate(2)), so that
// EFBIG means that the file could have been truncated.
func truncate(file string) error {
	signal.Ignore(unix.SIGXFSZ)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	none := unix.Rlimit{Cur: 0, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &none); err != nil {
		return err
	}
	err := unix.Truncate(file, math.MaxInt64)
	if errors.Is(err, unix.EFBIG) {
		err = nil
	}
	return errors.Join(err, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
}

// remove asks to remove a file as a directory. The kernel checks permissions before the type (rmdir(2)), so that ENOTDIR
// means that the file could have been removed.
func remove(file string) error {
	err := unix.Rmdir(file)
	if errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}
