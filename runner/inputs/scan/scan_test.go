package scan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// scanTree scans with no memory.
func scanTree(t *testing.T, dir string) (*Special, error) {
	t.Helper()
	return Scanner{}.Scan(t.Context(), inodetest.Open(t, dir), nil)
}

// special files are made by these; a character device 0:0 is a whiteout, which everyone may make.
var specials = map[uint32]func(t *testing.T, path string) error{
	unix.S_IFIFO: func(_ *testing.T, path string) error { return unix.Mkfifo(path, 0o600) },
	unix.S_IFCHR: func(_ *testing.T, path string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, 0) },
	unix.S_IFSOCK: func(t *testing.T, path string) error {
		t.Chdir(filepath.Dir(path)) // the name of a unix socket has 108 bytes at most (unix(7))
		inodetest.Listen(t, filepath.Base(path))
		return nil
	},
}

func TestScanFinds(t *testing.T) {
	for kind, make := range specials {
		for _, at := range []string{"x", "a/x", "a/b/c/d/e/x", "z/x"} {
			t.Run(regular.KindName(kind)+" "+at, func(t *testing.T) {
				dir := inodetest.Tree(t, "a/1", "a/b/2", "a/b/c/d/e/3", "m/", "z/4")
				inodetest.Try(t, make(t, filepath.Join(dir, at)))
				found, err := scanTree(t, dir)
				if err != nil || found == nil || found.Path != at || found.Kind != kind {
					t.Errorf("got %+v, %v", found, err)
				}
			})
		}
	}
}

func TestScanFollowsNoLink(t *testing.T) {
	outside, dir := inodetest.Tree(t, "d/1"), inodetest.Tree(t, "a/b/1", "c/2")
	inodetest.Try(t, unix.Mkfifo(outside+"/d/fifo", 0o600),
		os.Symlink(outside+"/d/fifo", dir+"/file"), os.Symlink(outside+"/d", dir+"/a/dir"),
		os.Symlink(".", dir+"/a/b/loop"), os.Symlink("/proc/self/root", dir+"/c/magic"))
	if found, err := scanTree(t, dir); err != nil || found != nil {
		t.Errorf("got %+v, %v", found, err)
	}
}

// TestScanGoesDeep: any depth, with few descriptors, also beyond the length of a path (PATH_MAX, 4096).
func TestScanGoesDeep(t *testing.T) {
	const depth = 3000
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for i := 0; err == nil && i < depth; i++ {
		below := -1
		err = errors.Join(unix.Mkdirat(fd, "dir", 0o755), unix.Mkdirat(fd, "beside", 0o755))
		if err == nil {
			below, err = unix.Openat(fd, "dir", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		}
		unix.Close(fd)
		fd = below
	}
	inodetest.Try(t, err)
	defer unix.Close(fd)
	most := 0
	w := &walk{buf: make([]byte, direntBytes), progress: newProgress(t.Context(), nil)}
	each(w, func() { most = max(most, held(w)) })
	if found, err := w.run(int(inodetest.Open(t, dir).Fd())); err != nil || found != nil || w.entries != 2*depth {
		t.Errorf("got %+v, %v after %d entries, want %d", found, err, w.entries, 2*depth)
	}
	if most == 0 || most > heldDirs+1 {
		t.Errorf("%d directories were open at a time", most)
	}
	inodetest.Try(t, unix.Mkfifoat(fd, "fifo", 0o600))
	found, err := scanTree(t, dir)
	if err != nil || found == nil || found.Path != strings.Repeat("dir/", depth)+"fifo" {
		t.Errorf("the FIFO at the end: %.80v, %v", found, err)
	}
}

// each does something at every step of a scan.
func each(s *walk, do func()) {
	s.next, s.tell = time.Time{}, func(int64) {
		s.next = time.Time{}
		do()
	}
}

func held(s *walk) (n int) {
	for _, l := range s.levels {
		if l.fd >= 0 {
			n++
		}
	}
	return n
}

// TestScanOfWhatMoves moves a directory away while the scan is below it.
func TestScanOfWhatMoves(t *testing.T) {
	const deep = heldDirs + 10
	for _, at := range []int{1, 5, deep - 1} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			dir, away := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, strings.Repeat("d/", deep)+"end")
			inodetest.Try(t, os.MkdirAll(path, 0o755))
			w := &walk{buf: make([]byte, direntBytes), progress: newProgress(t.Context(), nil)}
			each(w, func() {
				if len(w.levels) == deep {
					w.tell = nil
					inodetest.Try(t, os.Rename(filepath.Join(dir, strings.Repeat("d/", at)), away+"/moved"))
				}
			})
			_, err := w.run(int(inodetest.Open(t, dir).Fd()))
			// What is open all the time is not looked for again.
			if closed := at <= deep-heldDirs; closed && (err == nil || !strings.Contains(err.Error(), "was moved")) {
				t.Errorf("moved at %d: %v", at, err)
			} else if !closed && err != nil {
				t.Error(err)
			}
		})
	}
}

const nobody = 65534

// asNobody does something on a thread that has no right of root's on files (setfsuid(2)).
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		inodetest.Try(t, unix.Setfsgid(nobody), unix.Setfsuid(nobody))
		do()
	}()
	<-done
}

// TestScanOfClosedDirectories: a directory that the caller cannot look into is passed over only where the
// analysis cannot enter it.
func TestScanOfClosedDirectories(t *testing.T) {
	mine := Reader{UID: 4711, GID: 4711}
	me, my := os.Getuid(), os.Getgid()
	if me == 0 {
		me, my = nobody, nobody
	}
	advice := "close it to others (chmod o-x)"
	if me != os.Geteuid() {
		advice = fmt.Sprintf("pass a directory without it, or ask its owner (uid %d)", me)
	}
	for name, c := range map[string]struct {
		mode   os.FileMode
		reader Reader
		list   bool // an access control list is on it
		taken  bool
	}{
		"closed to all":              {0, mine, false, true},
		"others may list":            {0o004, mine, false, true},
		"others may enter":           {0o001, mine, false, false},
		"others may do both":         {0o005, mine, false, false},
		"its group may enter":        {0o010, mine, false, true},
		"the analysis' own":          {0o100, Reader{UID: me, GID: 4711}, false, false},
		"of the analysis' group":     {0o010, Reader{UID: 4711, GID: my}, false, false},
		"someone on a list may":      {0o010, mine, true, false},
		"nobody on the list may any": {0o000, mine, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := inodetest.Tree(t, "a/closed/deep/1")
			closed := dir + "/a/closed"
			if c.list {
				// acl(5) in the form of the kernel (struct posix_acl_xattr_header): version 2; user::---,
				// user:4712:r-x, group::---, mask::rwx, other::---
				list := "\x02\x00\x00\x00" + "\x01\x00\x00\x00\xff\xff\xff\xff" + "\x02\x00\x05\x00\x68\x12\x00\x00" +
					"\x04\x00\x00\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
				if err := unix.Setxattr(closed, "system.posix_acl_access", []byte(list), 0); err == unix.ENOTSUP {
					t.Skip("the file system of the temporary directory has no access control lists")
				} else {
					inodetest.Try(t, err)
				}
			}
			inodetest.Try(t, os.Chmod(closed, c.mode), os.Chown(closed, me, my))
			defer func() { inodetest.Try(t, os.Chmod(closed, 0o700)) }()
			top := inodetest.Open(t, dir)
			asNobody(t, func() {
				_, err := Scanner{Reader: c.reader}.Scan(t.Context(), top, nil)
				if c.taken && err != nil || !c.taken && (err == nil || !strings.Contains(err.Error(), `you cannot look into "a/closed"`) || !strings.Contains(err.Error(), advice)) {
					t.Errorf("mode %v: %v", c.mode, err)
				}
			})
		})
	}
}

// TestScanWithoutSearch: names that can be listed in a directory that cannot be entered.
func TestScanWithoutSearch(t *testing.T) {
	dir := inodetest.Tree(t, "a/below/1")
	top := inodetest.Open(t, dir)
	for mode, taken := range map[os.FileMode]bool{0o444: true, 0o440: true} {
		inodetest.Try(t, os.Chmod(dir+"/a", mode))
		asNobody(t, func() {
			if _, err := (Scanner{}).Scan(t.Context(), top, nil); (err == nil) != taken {
				t.Errorf("mode %v: %v", mode, err)
			}
		})
	}
	inodetest.Try(t, os.Chmod(dir+"/a", 0o755))
}

func TestScanEndsWithItsContext(t *testing.T) {
	dir := inodetest.Tree(t, "a/b/1")
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := (Scanner{}).Scan(ctx, inodetest.Open(t, dir), nil); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestPace(t *testing.T) {
	var told []int64
	p := newProgress(t.Context(), func(entries int64) { told = append(told, entries) })
	if wait := time.Until(p.next); wait < TellAfter-time.Second || wait > TellAfter {
		t.Errorf("the first word comes after %v", wait)
	}
	inodetest.Try(t, p.proceed(1))
	p.next = time.Now().Add(-time.Millisecond)
	inodetest.Try(t, p.proceed(2), p.proceed(3))
	if !slices.Equal(told, []int64{2}) {
		t.Errorf("told %v", told)
	}
	if wait := time.Until(p.next); wait < 0 || wait > tellEvery {
		t.Errorf("the next word comes after %v", wait)
	}
}

// TestUntypedEntries: few file systems do not tell types.
func TestUntypedEntries(t *testing.T) {
	dir := inodetest.Tree(t, "file", "dir/")
	inodetest.Try(t, unix.Mkfifo(dir+"/fifo", 0o600), os.Symlink("fifo", dir+"/link"))
	at := int(inodetest.Open(t, dir).Fd())
	for name, want := range map[string]uint32{
		"file": unix.S_IFREG, "dir": unix.S_IFDIR, "fifo": unix.S_IFIFO, "link": unix.S_IFLNK, "gone": 0,
	} {
		if got, err := (dirent{unix.DT_UNKNOWN, []byte(name)}).kind(at); got != want || err != nil {
			t.Errorf("%s: %o, %v", name, got, err)
		}
	}
}

// TestScanOfALivingRun: directories of runs that ended are like any other.
func TestScanOfALivingRun(t *testing.T) {
	dir := inodetest.Tree(t, "a/1")
	run := dir + "/a/" + lockdir.RunPrefix + "x"
	inodetest.Try(t, os.Mkdir(run, 0o700))
	held, err := os.Open(run)
	inodetest.Try(t, err, lockdir.LockRun(held))
	if _, err := scanTree(t, dir); err == nil || !strings.Contains(err.Error(), `"a/scidex-analysis-x"`) {
		t.Errorf("alive: %v", err)
	}
	inodetest.Try(t, held.Close())
	if found, err := scanTree(t, dir); found != nil || err != nil {
		t.Errorf("ended: %+v, %v", found, err)
	}
}

func TestScanNamesWhatItCannotOpen(t *testing.T) {
	s := &walk{levels: []level{{name: ""}, {name: "a"}}}
	dir := inodetest.Tree(t, "file", "dir/")
	inodetest.Try(t, unix.Mkfifo(dir+"/fifo", 0o600), os.Symlink("fifo", dir+"/link"))
	at := int(inodetest.Open(t, dir).Fd())
	for _, c := range []struct {
		name  string
		err   error
		found uint32
		want  string
	}{
		{"gone", unix.ENOENT, 0, ""},
		{"gone", unix.ENOTDIR, 0, ""},
		{"file", unix.ENOTDIR, 0, ""},
		{"link", unix.ELOOP, 0, ""},
		{"fifo", unix.ENOTDIR, unix.S_IFIFO, ""},
		{"dir", unix.ELOOP, 0, `"a/dir" was moved`},
		{"dir", unix.EXDEV, 0, `"a/dir" is mounted below it`},
		{"dir", unix.EIO, 0, `open "a/dir": input/output error`},
		{"dir", unix.EMFILE, 0, `open "a/dir": too many open files`},
	} {
		found, err := s.unopened(at, c.name, c.err)
		if (found != nil) != (c.found != 0) || found != nil && (found.Kind != c.found || found.Path != "a/"+c.name) ||
			c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s, %v: %+v, %v", c.name, c.err, found, err)
		}
	}
	s.levels[1].known = true
	if _, err := s.unopened(at, "gone", unix.ENOENT); !errors.Is(err, errStale) {
		t.Errorf("a remembered name that is gone: %v", err)
	}
}
