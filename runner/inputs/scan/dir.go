package scan

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// direntBytes is how much of a directory is read at a time: memory depends only on the names of its subdirectories.
const direntBytes = 128 << 10

// listing is the content of a directory without special entries.
type listing struct {
	entries int64
	subdirs string // their names, each ended by NUL
}

// read reads an open directory to its end, or to the first special entry.
func (w *walk) read(fd int) (listing, *Special, error) {
	var subdirs []byte
	before := w.entries
	for {
		n, err := getdents(fd, w.buf)
		if err != nil || n == 0 {
			return listing{w.entries - before, string(subdirs)}, nil, err
		}
		for rest := w.buf[:n]; len(rest) > 0; {
			var e dirent
			e, rest = cutDirent(rest)
			if string(e.name) == "." || string(e.name) == ".." {
				continue
			}
			w.entries++
			kind, err := e.kind(fd)
			switch {
			case err != nil:
				return listing{}, nil, err
			case kind == unix.S_IFDIR:
				subdirs = append(append(subdirs, e.name...), 0)
			case isSpecial(kind):
				return listing{}, &Special{string(e.name), kind}, nil
			}
		}
		if err := w.proceed(w.entries); err != nil {
			return listing{}, nil, err
		}
	}
}

// dirent is an entry of getdents64(2).
type dirent struct {
	kindOf byte // DT_*
	name   []byte
}

// The fields of struct linux_dirent64: inode, offset, the record's length, type, name.
const (
	direntLen  = 16
	direntType = 18
	direntName = 19
)

func cutDirent(records []byte) (e dirent, rest []byte) {
	end := int(binary.NativeEndian.Uint16(records[direntLen:]))
	name := records[direntName:end]
	return dirent{records[direntType], name[:bytes.IndexByte(name, 0)]}, records[end:]
}

// kind is the entry's S_IFMT bits, 0 for a removed one. Few file systems leave the type out.
func (e dirent) kind(dir int) (uint32, error) {
	switch e.kindOf {
	case unix.DT_REG, unix.DT_LNK, unix.DT_DIR, unix.DT_SOCK, unix.DT_FIFO, unix.DT_CHR, unix.DT_BLK:
		return uint32(e.kindOf) << 12, nil // IFTODT(3)
	}
	var st unix.Stat_t
	err := unix.Fstatat(dir, string(e.name), &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return 0, nil
	}
	return st.Mode & unix.S_IFMT, err
}

func getdents(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Getdents(fd, buf)
		switch err {
		case unix.EINTR:
			continue
		case unix.ENOENT:
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Nlink == 0 { // the directory itself was removed
				return 0, nil
			}
		}
		return n, err
	}
}

func isSpecial(kind uint32) bool {
	switch kind {
	case unix.S_IFSOCK, unix.S_IFIFO, unix.S_IFCHR, unix.S_IFBLK:
		return true
	}
	return false
}
