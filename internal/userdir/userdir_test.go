package userdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// other is the uid of another user in these tests; the host need not know it.
const other = 54321

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// open is Open, closed at the end of the test.
func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func write(d *Dir, name, text string, replace bool) error {
	return d.Write(name, replace, 0o644, func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	})
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return string(raw)
}

func TestWrite(t *testing.T) {
	top := t.TempDir()
	must(t, os.Mkdir(filepath.Join(top, "dir"), 0o755), os.Symlink("victim", filepath.Join(top, "link")),
		os.WriteFile(filepath.Join(top, "victim"), []byte("untouched"), 0o600), unix.Mkfifo(filepath.Join(top, "fifo"), 0o600))
	d := open(t, top)
	must(t, write(d, "new", "1", false))
	if err := write(d, "new", "2", false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	must(t, write(d, "new", "3", true))
	for _, name := range []string{"dir", "link", "fifo"} {
		if err := write(d, name, "4", true); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "dir/x"} {
		if err := write(d, name, "5", true); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	if got := text(t, filepath.Join(top, "new")) + text(t, filepath.Join(top, "victim")); got != "3untouched" {
		t.Errorf("%q", got)
	}
	if names, err := d.Names(0); err != nil || len(names) != 5 {
		t.Errorf("%q, %v: something was left", names, err)
	}
}

func TestFinds(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(top, "a/b"), 0o755), os.Symlink("a/b", filepath.Join(top, "link")), os.Symlink("loop", filepath.Join(top, "loop")),
		os.Symlink("missing", filepath.Join(top, "dangling")), os.WriteFile(filepath.Join(top, "file"), nil, 0o600))
	for path, want := range map[string]string{
		"a": "a", "link": "a/b", "link/..": "a", "a/./b//": "a/b", "file": "not a directory", "file/x": "not a directory",
		"none": "no such file", "none/..": "no such file", "loop": "too many", "dangling": "no such file",
	} {
		d, err := Open(filepath.Join(top) + "/" + path)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
			continue
		}
		where, err := os.Readlink(procPath(d.fd))
		must(t, err, d.Close())
		if where != filepath.Join(top, want) {
			t.Errorf("%s is %s, want %s", path, where, want)
		}
	}
	for path, want := range map[string]string{"file": "file", "new": "new", "link/new": "new", "dangling": "dangling", "a": "a", "none/new": "", "file/new": "", "a/..": "", "new/": ""} {
		d, name, err := Parent(top + "/" + path)
		if name != want || (err == nil) != (want != "") {
			t.Errorf("parent of %s: %q, %v", path, name, err)
		}
		if d != nil {
			must(t, d.Close())
		}
	}
	d, name, err := ParentOfTarget(top + "/dangling")
	if err != nil || name != "missing" {
		t.Errorf("%s, %v", name, err)
	}
	must(t, d.Close())
	made, err := Make(top+"/link/x/y", 0o755)
	must(t, err, made.Close())
	if _, err := os.Stat(top + "/a/b/x/y"); err != nil {
		t.Error(err)
	}
}

// TestFollowsNothing: a name in the directory names its entry and never what a link leads to.
func TestFollowsNothing(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(top, "dir")),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(top, "file")), unix.Mkfifo(filepath.Join(top, "fifo"), 0o600))
	d := open(t, top)
	if sub, err := d.Sub("dir"); err == nil {
		t.Errorf("a link was opened as a directory: %s", sub.Path())
	}
	for _, name := range []string{"file", "fifo", "dir", "."} {
		if f, err := d.Read(name); err == nil {
			t.Errorf("%s was opened", f.Name())
		}
	}
	if _, err := d.Append("file", 0o600); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link was opened for appending: %v", err)
	}
	if _, err := d.Append("fifo", 0o600); !errors.Is(err, unix.ENXIO) {
		t.Errorf("a FIFO without a reader: %v", err)
	}
}

func TestAppendsToDescriptor(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	d, name, err := ParentOfTarget("/dev/fd/" + fdText(w))
	must(t, err)
	defer d.Close()
	f, err := d.Append(name, 0o600)
	must(t, err)
	_, err = f.WriteString("x")
	must(t, err, f.Close())
	var got [1]byte
	if _, err := r.Read(got[:]); err != nil || got[0] != 'x' {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHandle: a file of any kind is opened, and through another user's directory only what that user can reach.
func TestHandle(t *testing.T) {
	top := t.TempDir()
	must(t, os.WriteFile(top+"/file", nil, 0o600), os.Symlink("file", top+"/link"), unix.Mkfifo(top+"/fifo", 0o600))
	in, err := os.Open(top)
	must(t, err)
	defer in.Close()
	for path, want := range map[string]string{
		top: "", top + "/link": "file", top + "/fifo": "fifo", "/dev/fd/" + fdText(in): "", top + "/none": "no such file", top + "/file/x": "not a directory", top + "/none/x": "no such file",
	} {
		f, err := Handle(path)
		if err != nil {
			if !strings.Contains(err.Error(), want) || want == "" {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
			continue
		}
		where, err := os.Readlink(procPath(f))
		must(t, err, f.Close())
		if where != filepath.Join(top, want) {
			t.Errorf("%s is %s, want %s", path, where, want)
		}
	}
	dir := foreign(t)
	closed := filepath.Join(t.TempDir(), "closed")
	must(t, os.MkdirAll(closed+"/data", 0o755), os.Chmod(closed, 0o700), os.Symlink(closed+"/data", dir+"/data"))
	if f, err := Handle(dir + "/data"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("root led another user to its directory: %v, %v", f, err)
	}
}

// TestAppendsWithTheOwnersRights: a link of another user leads to what root has open.
func TestAppendsWithTheOwnersRights(t *testing.T) {
	dir := foreign(t)
	secret, err := os.Create(filepath.Join(t.TempDir(), "secret"))
	must(t, err)
	defer secret.Close()
	must(t, secret.Chmod(0o600), os.Symlink(procPath(secret), dir+"/link"))
	d, name, err := ParentOfTarget(dir + "/link")
	must(t, err)
	defer d.Close()
	if f, err := d.Append(name, 0o600); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("root's file was opened: %v, %v", f, err)
	}
}

// TestAppendsToMountedFile: what is mounted at the name is what was named.
func TestAppendsToMountedFile(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/null", nil, 0o600), unix.Mount(os.DevNull, dir+"/null", "", unix.MS_BIND, ""))
	defer func() { must(t, unix.Unmount(dir+"/null", 0)) }()
	f, err := open(t, dir).Append("null", 0o600)
	must(t, err)
	_, err = f.WriteString("x")
	must(t, err, f.Close())
}

// TestReadsMountedFile: a secret of a container is a mount.
func TestReadsMountedFile(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/secret", []byte("x"), 0o600), os.WriteFile(dir+"/name", nil, 0o600), unix.Mount(dir+"/secret", dir+"/name", "", unix.MS_BIND, ""))
	defer func() { must(t, unix.Unmount(dir+"/name", 0)) }()
	f, err := open(t, dir).Read("name")
	must(t, err)
	defer f.Close()
	if read, err := io.ReadAll(f); string(read) != "x" || err != nil {
		t.Errorf("%q, %v", read, err)
	}
}

func TestRemovesOnlyItsOwn(t *testing.T) {
	top := t.TempDir()
	d := open(t, top)
	f, err := d.Exclusive("f", 0o600)
	must(t, err)
	defer f.Close()
	must(t, os.Rename(top+"/f", top+"/g"), os.WriteFile(top+"/f", []byte("another"), 0o600))
	if err := d.Remove("f", f); err == nil || text(t, top+"/f") != "another" {
		t.Errorf("another file was removed: %v", err)
	}
	must(t, d.Remove("g", f))
	if is, err := d.Is("g", f); is || err != nil {
		t.Errorf("it is still there: %v", err)
	}
}

// needRoot skips a test that only root can run.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root works with the rights of others")
	}
}

// foreign is a directory of another user in a sticky directory.
func foreign(t *testing.T) string {
	t.Helper()
	needRoot(t)
	top := t.TempDir()
	must(t, os.Chmod(filepath.Dir(top), 0o755), os.Chmod(top, 0o755))
	dir := filepath.Join(top, "foreign")
	must(t, os.Mkdir(dir, 0o755), os.Chown(dir, other, other))
	return dir
}

// TestWorksAsTheOwner: root does nothing that the owner of a component of the path may not do, wherever the path leads.
func TestWorksAsTheOwner(t *testing.T) {
	dir, victim := foreign(t), t.TempDir()
	must(t, os.Chmod(filepath.Dir(victim), 0o755), os.Chmod(victim, 0o755), os.WriteFile(victim+"/secret", []byte("secret"), 0o600), os.Symlink(victim, dir+"/out"))
	if err := os.WriteFile(dir+"/out/taken", nil, 0o600); err != nil {
		t.Fatal("the attack does not work by a path:", err)
	}
	must(t, os.Remove(victim+"/taken"))
	d := open(t, dir+"/out")
	if err := write(d, "taken", "x", true); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "uid 54321") {
		t.Errorf("root wrote for another user: %v", err)
	}
	if _, err := d.Read("secret"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("root read for another user: %v", err)
	}
	own := open(t, dir)
	must(t, write(own, "new", "x", false))
	st, err := own.Lstat("new")
	if err != nil || st.Uid != other {
		t.Errorf("uid %d, %v", st.Uid, err)
	}
}

// TestRightsAreNested: the thread has the rights of the inner call, then those of the outer one, then root's.
func TestRightsAreNested(t *testing.T) {
	dir := foreign(t)
	d := open(t, dir)
	must(t, d.Do(func() error {
		if err := d.Do(func() error { return nil }); err != nil {
			return err
		}
		now, err := current()
		if now.uid != other || now.gid != nogroup || len(now.groups) != 0 {
			t.Errorf("after the inner call: %+v", now)
		}
		return err
	}))
	now, err := current()
	must(t, err)
	if now.uid != 0 || now.gid != 0 {
		t.Errorf("after the call: %+v", now)
	}
	if err := d.Do(func() error { return os.WriteFile(filepath.Dir(dir)+"/roots", nil, 0o600) }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("it still has root's rights: %v", err)
	}
}

func TestCheckTrusted(t *testing.T) {
	needRoot(t)
	top := t.TempDir()
	must(t, os.Mkdir(top+"/open", 0o755), os.Chmod(top+"/open", 0o777), os.Mkdir(top+"/sticky", 0o755), os.Chmod(top+"/sticky", 0o777|os.ModeSticky),
		os.Mkdir(top+"/sticky/own", 0o700), os.Mkdir(top+"/sticky/foreign", 0o755), os.Chown(top+"/sticky/foreign", other, other),
		os.Symlink(top+"/sticky/own", top+"/link"), os.Symlink(top+"/sticky/own", top+"/sticky/foreign-link"), os.Lchown(top+"/sticky/foreign-link", other, other))
	// Version 2: root all, user 54321 all, group all, mask all, others nothing (linux/posix_acl_xattr.h).
	acl := "\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x07\x00\x31\xd4\x00\x00" + "\x04\x00\x07\x00\xff\xff\xff\xff" +
		"\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
	must(t, os.Mkdir(top+"/listed", 0o700), os.WriteFile(top+"/theirs", nil, 0o600), os.Chown(top+"/theirs", other, other))
	if err := unix.Setxattr(top+"/listed", "system.posix_acl_access", []byte(acl), 0); !errors.Is(err, unix.ENOTSUP) {
		must(t, err)
	} else {
		must(t, os.Chmod(top+"/listed", 0o777))
	}
	for path, want := range map[string]string{
		"theirs": "uid 54321", "listed/new": "chmod go-w",
		"": "", "sticky/own": "", "sticky/own/new/deep": "", "sticky/new": "", "link": "", "open": "chmod go-w", "open/new": "chmod go-w",
		"sticky/foreign": "uid 54321", "sticky/foreign/new": "uid 54321", "sticky/foreign-link": "uid 54321",
	} {
		err := CheckTrusted(filepath.Join(top, path))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func fdText(f *os.File) string { return strconv.Itoa(int(f.Fd())) }

// TestWritable: /proc is root's to write by its mode, and not in fact.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, dir).Writable())
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	for _, path := range []string{"/proc", "/sys"} {
		if err := open(t, path).Writable(); err == nil {
			t.Errorf("%s can be written", path)
		}
	}
}

func TestAnotherUserCannotWrite(t *testing.T) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	if _, err := unix.SetfsuidRetUid(other); os.Geteuid() == 0 && err != nil {
		t.Fatal(err)
	}
	if err := open(t, "/usr").Writable(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another user's directory: %v", err)
	}
}

// TestCannotMake: each error has the path once and the way out; one that has both stays as it is.
func TestCannotMake(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/file", nil, 0o600))
	for name, want := range map[string]string{
		"none/x": `"DIR/none/x" cannot be made: the directory "DIR/none" does not exist; make it first, or name another file`,
		"file/x": `"DIR/file/x" cannot be made: not a directory; name a file in a directory that you can write to`,
		"dir/":   `"DIR/dir/" names a directory; name a file in it`,
	} {
		_, _, err := Parent(dir + "/" + name)
		if got := strings.ReplaceAll(NoParent("file", dir+"/"+name, err).Error(), dir, "DIR"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
