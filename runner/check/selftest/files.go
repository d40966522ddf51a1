package selftest

import (
	"errors"
	"math"
	"os/signal"
	"path"

	"golang.org/x/sys/unix"
)

// mostFound bounds what one outcome lists.
const mostFound = 100

// plantName is a name that nothing has.
const plantName = ".scidex-oci-selftest"

// spoil tries to change a directory. What it makes it removes.
func spoil(dir string) outcome {
	return outcome{Got: map[string]string{
		"create": word(create(dir)),
		"mkdir":  word(makeDir(dir)),
		"chmod":  word(chmodSame(dir)),
	}}
}

// change tries to change a file, without changing anything where it may.
func change(file string) outcome {
	return outcome{Got: map[string]string{
		"write":    word(openTo(file, unix.O_WRONLY)),
		"append":   word(openTo(file, unix.O_WRONLY|unix.O_APPEND)),
		"truncate": word(truncate(file)),
		"remove":   word(remove(file)),
		"chmod":    word(chmodSame(file)),
	}}
}

func create(dir string) error {
	name := path.Join(dir, plantName)
	if err := openTo(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL); err != nil {
		return err
	}
	return unix.Unlink(name)
}

func makeDir(dir string) error {
	name := path.Join(dir, plantName)
	if err := unix.Mkdir(name, 0o700); err != nil {
		return err
	}
	return unix.Rmdir(name)
}

// chmodSame gives a file the mode that it has.
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

// truncate asks for a length that an rlimit forbids: the kernel looks at the rights first and at the rlimit
// last (truncate(2)), so that EFBIG means that the file could have been truncated.
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

// remove asks to remove a file as if it were a directory: ENOTDIR comes after the rights were looked at
// (rmdir(2)) and means that it could have been removed.
func remove(file string) error {
	err := unix.Rmdir(file)
	if errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}
