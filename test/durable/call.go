package durable

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// note takes one call of this process.
func (w *watch) note(n *notification) {
	switch n.call {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		w.sync(int(int32(n.args[0])))
	case unix.SYS_MKDIRAT:
		w.made(n)
	default: // renameat(2), renameat2(2), linkat(2): from and to are the same arguments
		w.named(n)
	}
}

func (w *watch) named(n *notification) {
	var from unix.Stat_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if n.call == unix.SYS_LINKAT {
		flags = int(n.args[4])&unix.AT_EMPTY_PATH | unix.AT_SYMLINK_NOFOLLOW
		if n.args[4]&unix.AT_SYMLINK_FOLLOW != 0 {
			flags &^= unix.AT_SYMLINK_NOFOLLOW
		}
	}
	source, err := text(n.args[1])
	if err == nil {
		err = unix.Fstatat(int(int32(n.args[0])), source, &from, flags)
	}
	target, unread := text(n.args[3])
	if err != nil || unread != nil {
		return // the call fails as well
	}
	w.name(&from, below(n.args[2], target))
}

func (w *watch) made(n *notification) {
	name, err := text(n.args[1])
	path := below(n.args[0], name)
	if _, there := os.Lstat(path); err != nil || there == nil {
		return // the call fails as well
	}
	w.enter(path)
}

// below is the path of a name in an open directory.
func below(dir uint64, name string) string {
	fd := int(int32(dir))
	if fd == unix.AT_FDCWD || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(fd), name)
}

// text reads a string of C in this process, whose thread waits until the answer.
func text(address uint64) (string, error) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return "", err
	}
	defer memory.Close()
	var all []byte
	for buffer := make([]byte, 64); ; {
		n, err := memory.ReadAt(buffer, int64(address)+int64(len(all)))
		if end := bytes.IndexByte(buffer[:n], 0); end >= 0 {
			return string(append(all, buffer[:end]...)), nil
		}
		if err != nil {
			return "", err
		}
		all = append(all, buffer...)
	}
}
