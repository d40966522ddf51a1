package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// servesFuse is the first argument of this binary if it is to serve a FUSE file system: it passes all on to a directory, and gives
// one kind of wrong answer between two look-ups.
const (
	servesFuse = "e2e-serves-fuse"
	beginWrong = "begin-wrong-answers"
	endWrong   = "end-wrong-answers"

	eventsOnFuse = "events"
)

// wrong is one kind of wrong answer.
type wrong struct {
	op    string // of the faulty node's methods
	on    string // the file or directory of /work; "." is /work itself
	errno unix.Errno
	after int32 // how many openings of /work come before; the first is that of the last measurement, the second the harvest's
}

func (w wrong) String() string {
	name := strings.TrimRight(w.op+" "+w.on, " ")
	if w.errno != 0 {
		name += " " + unix.ErrnoName(w.errno)
	}
	return fmt.Sprintf("%s after %d", name, w.after)
}

// arguments are those of this binary for a server.
func (w wrong) arguments(dir, at string) []string {
	return flags(servesFuse, dir, at, w.op, w.on, strconv.Itoa(int(w.errno)), strconv.Itoa(int(w.after)))
}

// serveFuse serves the directory at a mount point until standard input ends. It says on standard output when it answers wrongly.
func serveFuse(dir, at, op, on, errno, after string) error {
	number, err := strconv.Atoi(errno)
	openings, failed := strconv.Atoi(after)
	root, unopened := fs.NewLoopbackRoot(dir)
	if err := errors.Join(err, failed, unopened); err != nil {
		return err
	}
	served := &liar{wrong: wrong{op: op, on: on, errno: unix.Errno(number), after: int32(openings)}}
	_, err = fs.Mount(at, &faulty{LoopbackNode: root.(*fs.LoopbackNode), liar: served}, &fs.Options{MountOptions: fuse.MountOptions{
		AllowOther: true, DirectMountStrict: true, DisableReadDirPlus: true, FsName: "scidex-oci-e2e",
		MaxWrite: fuseBlock, // and what is read at once
	}})
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	err = unix.Unmount(at, unix.MNT_DETACH)
	if err == nil {
		os.Exit(0)
	}
	return err
}

// fuseBlock is the most bytes of one read or write: the larger files of theHarvested have more than one.
const fuseBlock = 64 << 10

// liar decides when an answer is wrong.
type liar struct {
	wrong
	begun    atomic.Bool
	openings atomic.Int32 // of /work since then
}

// lies reports whether a request on the path, relative to the mount point, gets the wrong answer.
func (l *liar) lies(path string, ops ...string) bool {
	if !l.begun.Load() || l.openings.Load() <= l.after || inWork(path) != l.on || !slices.Contains(ops, l.op) {
		return false
	}
	fmt.Printf("%s\n", l.wrong)
	return true
}

// inWork is a path relative to /work, or empty.
func inWork(path string) string {
	if _, name, found := strings.Cut(path+"/", "/work/"); found {
		return filepath.Clean(name)
	}
	return ""
}

// faulty is a file or directory.
type faulty struct {
	*fs.LoopbackNode
	*liar
}

func (n *faulty) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &faulty{LoopbackNode: ops.(*fs.LoopbackNode), liar: n.liar}
}

func (n *faulty) path() string { return n.Path(n.Root()) }

func (n *faulty) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	switch {
	case name == beginWrong && n.op == "die":
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	case name == beginWrong, name == endWrong:
		n.begun.Store(name == beginWrong)
	}
	path := filepath.Join(n.path(), name)
	if n.lies(path, "lookup") {
		return nil, n.errno
	}
	inode, errno := n.LoopbackNode.Lookup(ctx, name, out)
	if errno == 0 && n.lies(path, "smaller", "larger") {
		n.resize(&out.Attr)
	}
	return inode, errno
}

// resize gives a wrong size.
func (n *faulty) resize(attr *fuse.Attr) {
	if n.op == "smaller" {
		attr.Size--
	} else {
		attr.Size++
	}
}

func (n *faulty) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if n.lies(n.path(), "getattr") {
		return n.errno
	}
	errno := n.LoopbackNode.Getattr(ctx, f, out)
	if errno == 0 && n.lies(n.path(), "smaller", "larger") {
		n.resize(&out.Attr)
	}
	return errno
}

// Statx makes the kernel request attributes with Getattr only.
func (n *faulty) Statx(context.Context, fs.FileHandle, uint32, uint32, *fuse.StatxOut) syscall.Errno {
	return unix.ENOSYS
}

func (n *faulty) Open(ctx context.Context, how uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if n.lies(n.path(), "open") {
		return nil, 0, n.errno
	}
	f, flags, errno := n.LoopbackNode.Open(ctx, how)
	if n.begun.Load() {
		flags |= fuse.FOPEN_DIRECT_IO // no cache between the answer and the reader
	}
	return f, flags, errno
}

func (n *faulty) Read(ctx context.Context, f fs.FileHandle, into []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	half := int64(fuseBlock / 2)
	switch {
	case n.lies(n.path(), "read"), offset > 0 && n.lies(n.path(), "read on"):
		return nil, n.errno
	case n.lies(n.path(), "read little"):
		into = into[:(len(into)+1)/2]
	case n.lies(n.path(), "read to an early end"):
		into = into[:min(int64(len(into)), max(half-offset, 0))]
	}
	return f.(fs.FileReader).Read(ctx, into, offset)
}

// Create opens a file whose writes the kernel passes on to the server.
func (n *faulty) Create(ctx context.Context, name string, how, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, f, flags, errno := n.LoopbackNode.Create(ctx, name, how, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return inode, servedFile{f.(*fs.LoopbackFile)}, flags, 0
}

// servedFile is an open file that the kernel does not read and write itself.
type servedFile struct{ *fs.LoopbackFile }

func (servedFile) PassthroughFd() (int, bool) { return 0, false }

// Write begins the wrong answers with the event that the analysis has exited: /work has been measured for the last time.
func (n *faulty) Write(ctx context.Context, f fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	if filepath.Base(n.path()) == eventsOnFuse && bytes.Contains(data, []byte(`"run.exited"`)) {
		n.begun.Store(true)
	}
	return f.(fs.FileWriter).Write(ctx, data, offset)
}

func (n *faulty) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if n.begun.Load() && inWork(n.path()) == "." {
		n.openings.Add(1)
	}
	if n.lies(n.path(), "opendir") {
		return nil, 0, n.errno
	}
	list := &openDirectory{faulty: n}
	return list, 0, list.Seekdir(ctx, 0)
}

// openDirectory lists a directory as it was when it was read from the start.
type openDirectory struct {
	*faulty
	entries []fuse.DirEntry
	next    int
	end     syscall.Errno // instead of the end
}

func (d *openDirectory) read() syscall.Errno {
	entries, err := os.ReadDir(filepath.Join(d.RootData.Path, d.path()))
	if err != nil {
		return fs.ToErrno(err)
	}
	d.entries, d.end = nil, 0
	for _, entry := range entries {
		d.entries = append(d.entries, fuse.DirEntry{Name: entry.Name(), Ino: 1})
	}
	switch {
	case d.lies(d.path(), "readdir"):
		d.entries, d.end = nil, d.errno
	case d.lies(d.path(), "readdir on"):
		d.entries, d.end = d.entries[:len(d.entries)/2], d.errno
	case d.lies(filepath.Join(d.path(), filepath.Base(d.on)), "hide"):
		d.entries = slices.DeleteFunc(d.entries, func(e fuse.DirEntry) bool { return e.Name == filepath.Base(d.on) })
	case d.lies(d.path(), "invent"):
		d.entries = append(d.entries, fuse.DirEntry{Name: "invented", Ino: 1})
	}
	return 0
}

func (d *openDirectory) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	if d.next == len(d.entries) {
		return nil, d.end
	}
	entry := d.entries[d.next]
	d.next++
	entry.Off = uint64(d.next)
	return &entry, 0
}

func (d *openDirectory) Seekdir(_ context.Context, offset uint64) syscall.Errno {
	if offset == 0 {
		if errno := d.read(); errno != 0 {
			return errno
		}
	}
	d.next = min(int(offset), len(d.entries))
	return 0
}
