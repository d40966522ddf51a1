package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileCall is a system call that works on a file, and which of its arguments say what; -1 is none.
type fileCall struct {
	name   string
	dir    int  // the descriptor of the file, or of the directory that path begins at
	path   int  // the path
	writes bool // a full disk may refuse it
	flags  int  // of open(2), which writes if it creates

	offset uintptr // of the path in what the argument points to, in bytes
}

// onFile takes a descriptor as its first argument.
func onFile(name string) fileCall { return fileCall{name: name, dir: 0, path: -1, flags: -1} }

// at takes a directory and a path.
func at(name string) fileCall { return fileCall{name: name, dir: 0, path: 1, flags: -1} }

// to makes a name: the second of two if it takes two.
func to(name string, dir, path int) fileCall {
	return fileCall{name: name, dir: dir, path: path, writes: true, flags: -1}
}

// writing is a call that a full disk refuses.
func (c fileCall) writing() fileCall {
	c.writes = true
	return c
}

// opening is one of open(2), with its flags in an argument.
func (c fileCall) opening(flags int) fileCall {
	c.flags = flags
	return c
}

// refusedByFullDisk reports whether the waiting call needs space. Opening an existing file needs none, whatever the
// flags (open(2), ENOSPC): SQLite, which then takes an index that it may only read, would remove its log with all that
// is in it.
func (c fileCall) refusedByFullDisk(n notification) bool {
	if c.flags < 0 || n.Args[c.flags]&unix.O_CREAT == 0 {
		return c.writes
	}
	_, err := os.Lstat(c.file(n))
	return err != nil
}

// readingCalls change nothing, whatever their arguments.
var readingCalls = []string{
	"readlinkat", "readlink", "newfstatat", "stat", "lstat", "statx", "faccessat", "faccessat2", "access",
	"fstat", "fstatfs", "getdents64", "read", "pread64", "flock", "lseek", "flistxattr", "fsync", "fdatasync", "syncfs",
}

// refusedByReadOnly reports whether the waiting call changes something, or opens a file to do so.
func (c fileCall) refusedByReadOnly(n notification) bool {
	if c.flags >= 0 {
		return n.Args[c.flags]&(unix.O_ACCMODE|unix.O_CREAT|unix.O_TRUNC) != 0
	}
	return c.name != "openat2" && !slices.Contains(readingCalls, c.name)
}

// endOfAnalysis is a pid beyond the kernel's greatest (PID_MAX_LIMIT): the analysis signals it as its last act.
const endOfAnalysis = 5 << 20

// fileCalls are the calls that wait for an answer: those by which launcher and supervisor, the Go runtime and SQLite
// among them, read and change files. Not among them are close(2), which closes even with an error, and the locks of
// fcntl(2), which no local file system fails and whose errors SQLite takes for locks of others.
var fileCalls = func() map[uintptr]fileCall {
	calls := map[uintptr]fileCall{
		unix.SYS_OPENAT: at("openat").opening(2), unix.SYS_OPENAT2: at("openat2"),
		unix.SYS_MKDIRAT: at("mkdirat").writing(), unix.SYS_MKNODAT: at("mknodat").writing(), unix.SYS_SYMLINKAT: to("symlinkat", 1, 2),
		unix.SYS_LINKAT: to("linkat", 2, 3), unix.SYS_RENAMEAT: to("renameat", 2, 3), unix.SYS_RENAMEAT2: to("renameat2", 2, 3),
		unix.SYS_UNLINKAT: at("unlinkat"), unix.SYS_READLINKAT: at("readlinkat"),
		unix.SYS_NEWFSTATAT: at("newfstatat"), unix.SYS_STATX: at("statx"), unix.SYS_FACCESSAT: at("faccessat"), unix.SYS_FACCESSAT2: at("faccessat2"),
		unix.SYS_FCHMODAT: at("fchmodat"), unix.SYS_FCHMODAT2: at("fchmodat2"), unix.SYS_FCHOWNAT: at("fchownat"), unix.SYS_UTIMENSAT: at("utimensat"),
		unix.SYS_FSTAT: onFile("fstat"), unix.SYS_FSTATFS: onFile("fstatfs"),
		unix.SYS_FCHMOD: onFile("fchmod"), unix.SYS_FCHOWN: onFile("fchown"), unix.SYS_FTRUNCATE: onFile("ftruncate").writing(),
		unix.SYS_FALLOCATE: onFile("fallocate").writing(), unix.SYS_GETDENTS64: onFile("getdents64"),
		unix.SYS_READ: onFile("read"), unix.SYS_PREAD64: onFile("pread64"),
		unix.SYS_WRITE: onFile("write").writing(), unix.SYS_PWRITE64: onFile("pwrite64").writing(),
		unix.SYS_COPY_FILE_RANGE: to("copy_file_range", 2, -1), unix.SYS_SENDFILE: onFile("sendfile").writing(),
		unix.SYS_FSYNC: onFile("fsync"), unix.SYS_FDATASYNC: onFile("fdatasync"), unix.SYS_SYNCFS: onFile("syncfs"),
		unix.SYS_FLOCK: onFile("flock"), unix.SYS_LSEEK: onFile("lseek"), unix.SYS_FLISTXATTR: onFile("flistxattr"),
		unix.SYS_KILL: {name: "kill"}, // the mark
	}
	for number, call := range oldFileCalls {
		calls[number] = call
	}
	return calls
}()

// file returns the path that a waiting call works on, as the process sees it.
func (c fileCall) file(n notification) string {
	proc := filepath.Join("/proc", strconv.Itoa(int(n.Pid)))
	path := c.text(n)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	base := "cwd"
	if c.dir >= 0 && int32(n.Args[c.dir]) != unix.AT_FDCWD {
		base = "fd/" + strconv.Itoa(int(int32(n.Args[c.dir])))
	}
	dir, err := os.Readlink(filepath.Join(proc, base))
	if err != nil {
		return "?" + err.Error()
	}
	if path == "" {
		return dir
	}
	return filepath.Join(dir, path)
}

// text returns the path that a waiting call has as an argument.
func (c fileCall) text(n notification) string {
	if c.path < 0 || n.Args[c.path] == 0 { // utimensat(2) may have none
		return ""
	}
	return readString(int(n.Pid), uintptr(n.Args[c.path])+c.offset)
}

// readString reads a string of C out of a process.
func readString(pid int, address uintptr) string {
	buffer := make([]byte, 4096)
	remote := []unix.RemoteIovec{{Base: address, Len: int(min(uintptr(len(buffer)), 4096-address%4096))}}
	local := []unix.Iovec{{Base: &buffer[0], Len: uint64(len(buffer))}}
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if err != nil {
		return "?" + err.Error()
	}
	if text, _, ended := strings.Cut(string(buffer[:n]), "\x00"); ended || address%4096 == 0 {
		return text
	}
	rest := address + uintptr(n)
	return string(buffer[:n]) + readString(pid, rest)
}
