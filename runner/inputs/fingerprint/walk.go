package fingerprint

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// maxDepth is how deep a tree may be: each level holds a descriptor.
const maxDepth = 256

// walk makes one fingerprint.
type walk struct {
	ctx    context.Context // of this one fingerprint
	kind   Kind
	memory *memory // nil: files are read, or not looked into
	print  Print
	buf    []byte
}

type sum [sha256.Size]byte

// top is the digest of the top of a tree, which may be a single file.
func (w *walk) top(f *os.File, st *unix.Statx_t) (sum, error) {
	w.see(st)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		w.count(st)
		return w.file("", st, func() (*os.File, error) { return os.Open(inode.ProcPath(f)) })
	case unix.S_IFDIR:
		dir, err := w.open(f, ".", unix.O_DIRECTORY)
		if err != nil {
			return sum{}, err
		}
		return w.directory(dir, "", 1)
	default:
		return sum{}, fmt.Errorf("is %s", regular.KindName(uint32(st.Mode&unix.S_IFMT)))
	}
}

func (w *walk) open(dir *os.File, name string, flags int) (*os.File, error) {
	fd, err := beneath.Open(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// directory is the digest of the directory at a path, whose descriptor it closes.
func (w *walk) directory(dir *os.File, path string, depth int) (_ sum, err error) {
	defer dir.Close()
	if depth > maxDepth {
		return sum{}, fmt.Errorf("%q lies deeper than %d directories", path, maxDepth)
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return sum{}, fmt.Errorf("list %q: %w", path, err)
	}
	slices.Sort(names)
	h := sha256.New()
	record(h, "scidex-oci "+string(w.kind)+" 1")
	for _, name := range names {
		err := context.Cause(w.ctx) // nil until it has ended
		if err == nil {
			err = w.entry(h, dir, name, join(path, name), depth)
		}
		if err != nil {
			return sum{}, err
		}
	}
	return sum(h.Sum(nil)), nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// entry adds one entry to the digest of its directory: a letter for its type, its name, and its content.
func (w *walk) entry(h hash.Hash, dir *os.File, name, path string, depth int) error {
	st, err := inode.Stat(int(dir.Fd()), name)
	if errors.Is(err, unix.ENOENT) {
		return &entryError{path, errChanged} // removed since it was listed, or its file system fails
	}
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	w.see(st)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = w.subdirectory(h, dir, name, path, depth, st)
	case unix.S_IFREG:
		err = w.regular(h, dir, name, path, st)
	case unix.S_IFLNK:
		var target string
		if target, err = beneath.Readlink(int(dir.Fd()), name); err == nil {
			record(h, "l", name, target)
		}
	default:
		record(h, "o", name, regular.KindName(uint32(st.Mode&unix.S_IFMT)))
	}
	var named *entryError
	if err == nil || errors.As(err, &named) || w.ctx.Err() != nil {
		return err
	}
	return &entryError{path, err}
}

// entryError names the entry that could not be read.
type entryError struct {
	path string
	err  error
}

func (e *entryError) Error() string { return fmt.Sprintf("%q: %v", e.path, e.err) }
func (e *entryError) Unwrap() error { return e.err }

// subdirectory adds a directory and all below it. A listing has only the entry of one that neither its user nor others may
// enter: an analysis has this user's id, or one with the rights of others. There are some in /usr.
func (w *walk) subdirectory(h hash.Hash, dir *os.File, name, path string, depth int, st *unix.Statx_t) error {
	below, err := w.open(dir, name, unix.O_DIRECTORY)
	if errors.Is(err, unix.EACCES) && w.kind == Listing && st.Mode&0o007 == 0 && !ownedOpen(st) {
		record(h, "c", name)
		return nil
	}
	if err != nil {
		return err
	}
	digest, err := w.directory(below, path, depth+1)
	if err == nil {
		record(h, "d", name, string(digest[:]))
	}
	return err
}

// ownedOpen reports whether its mode lets this process enter a directory as its owner: an error is the file system's then.
func ownedOpen(st *unix.Statx_t) bool {
	return st.Uid == uint32(os.Geteuid()) && st.Mode&0o500 == 0o500
}

func (w *walk) regular(h hash.Hash, dir *os.File, name, path string, st *unix.Statx_t) error {
	w.count(st)
	if w.kind == Listing {
		var when []byte
		when = binary.AppendVarint(when, int64(st.Size))
		when = binary.AppendVarint(when, st.Ctime.Sec)
		when = binary.AppendUvarint(when, uint64(st.Ctime.Nsec))
		record(h, "f", name, string(when))
		return nil
	}
	digest, err := w.file(path, st, func() (*os.File, error) { return w.open(dir, name, 0) })
	if err != nil {
		return err
	}
	letter := "f"
	if st.Mode&0o100 != 0 {
		letter = "x"
	}
	record(h, letter, name, string(digest[:]))
	return nil
}

// file is the digest of a file's bytes, cached if it has not changed.
func (w *walk) file(path string, st *unix.Statx_t, open func() (*os.File, error)) (sum, error) {
	if digest, ok := w.memory.find(path, st); ok {
		return digest, w.memory.note(path, st, digest)
	}
	f, err := open()
	if err != nil {
		return sum{}, err
	}
	defer f.Close()
	if w.buf == nil {
		w.buf = make([]byte, 256<<10)
	}
	h := sha256.New()
	if _, err := io.CopyBuffer(h, bounded.Until(w.ctx, f), w.buf); err != nil {
		return sum{}, err
	}
	after, err := inode.Stat(int(f.Fd()), "")
	if err != nil {
		return sum{}, err
	}
	if inode.Of(after) != inode.Of(st) || after.Ctime != st.Ctime || after.Size != st.Size {
		return sum{}, errChanged
	}
	digest := sum(h.Sum(nil))
	return digest, w.memory.note(path, st, digest)
}

func (w *walk) see(st *unix.Statx_t) {
	if at := changed(st); at.After(w.print.Newest) {
		w.print.Newest = at
	}
}

func (w *walk) count(st *unix.Statx_t) {
	w.print.Files++
	w.print.Bytes += int64(st.Size)
}

// record adds words to a digest, each after its length, so that no two lists of words are the same bytes.
func record(h hash.Hash, words ...string) {
	var length [binary.MaxVarintLen64]byte
	for _, word := range words {
		n := binary.PutUvarint(length[:], uint64(len(word)))
		h.Write(length[:n])
		io.WriteString(h, word) //nolint:errcheck // a hash takes everything (hash.Hash)
	}
}
