package selftest

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path"
	"strings"

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

// plant tries to make a file in every directory below root. It lists where that did not end as it must.
func plant(root string, skip []string) outcome {
	found := outcome{Got: map[string]string{}}
	w := newWalker(skip)
	found.Partial = w.walk(root, func(dir string) {
		found.Count++
		if said := word(create(dir)); !isClosed(said) {
			found.list(dir, said)
		}
	}, nil)
	return found
}

// isClosed reports whether the word says that a file system may not be written.
func isClosed(word string) bool {
	return word == "EROFS" || word == "EACCES" || word == "EPERM"
}

func (o *outcome) list(name, word string) {
	if len(o.Got) < mostFound {
		o.Got[name] = word
	} else {
		o.Partial = true
	}
}

// search looks for unix sockets and FIFOs below root and tries to get through each.
func search(root string, skip []string) outcome {
	found := outcome{Got: map[string]string{}}
	w := newWalker(skip)
	found.Partial = w.walk(root, nil, func(name string, kind fs.FileMode) {
		switch {
		case kind&fs.ModeSocket != 0:
			found.list(name, "socket "+word(connectSocket(name)))
		case kind&fs.ModeNamedPipe != 0:
			found.list(name, "fifo "+word(openTo(name, unix.O_RDWR)))
		}
	})
	found.Count = w.entries
	return found
}

// readSome reads the beginning of a file, what a link leads to, or the names in a directory.
func readSome(name string) error {
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

// openOne opens the entries of a directory until one can be opened. In a user namespace with one id init's
// descriptors can be listed, and each is closed all the same.
func openOne(dir string) error {
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
