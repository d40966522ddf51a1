package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAppendTo: a link, a FIFO with a reader and a descriptor are what they lead to.
func TestAppendTo(t *testing.T) {
	dir := t.TempDir()
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	must(t, os.Symlink("new", dir+"/dangling"), os.Symlink("/dev/fd", dir+"/descriptors"), unix.Mkfifo(dir+"/fifo", 0o600))
	reader, err := os.OpenFile(dir+"/fifo", os.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	defer reader.Close()
	for path, from := range map[string]*os.File{
		dir + "/dangling": nil, dir + "/fifo": reader, fmt.Sprintf("/dev/fd/%d", w.Fd()): r, fmt.Sprintf("%s/descriptors/%d", dir, w.Fd()): r,
	} {
		f, err := appendEventsTo(path)
		must(t, err)
		_, err = f.WriteString("x")
		must(t, err, f.Close())
		if from == nil {
			from, err = os.Open(dir + "/new")
			must(t, err)
			defer from.Close()
		}
		var got [2]byte
		if n, err := from.Read(got[:]); n != 1 || err != nil {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
	}
}

// TestAppendToForeignLink: root appends for another user only to what that user could.
func TestAppendToForeignLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be led to what the user may not change")
	}
	const another = 54321
	top := t.TempDir()
	victim, link := filepath.Join(top, "victim"), filepath.Join(top, "foreign", "link")
	must(t, os.Chmod(filepath.Dir(top), 0o755), os.Chmod(top, 0o755), os.WriteFile(victim, nil, 0o600), os.Mkdir(filepath.Dir(link), 0o755),
		os.Symlink(victim, link), os.Lchown(link, another, another), os.Chown(filepath.Dir(link), another, another))
	if f, err := appendEventsTo(link); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("root's file was opened: %v, %v", f, err)
	}
	f, err := appendEventsTo(filepath.Dir(link) + "/new")
	must(t, err, f.Close())
	var st unix.Stat_t
	if err := unix.Stat(f.Name(), &st); err != nil || st.Uid != another {
		t.Errorf("uid %d, %v", st.Uid, err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
