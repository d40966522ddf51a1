package selftest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

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
