package procs

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// TestWriters: what is open for writing on the mount is found, by its descriptor or as shared memory, and nothing else.
func TestWriters(t *testing.T) {
	dir := t.TempDir()
	open := func(dir, name string, flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), flags|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	want := map[outputs.Inode]string{}
	for name, flags := range map[string]int{"written": os.O_WRONLY, "both": os.O_RDWR, "appended": os.O_WRONLY | os.O_APPEND} {
		want[inodeOf(t, open(dir, name, flags))] = name
	}
	mapping := open(dir, "mapped", os.O_RDWR)
	want[mapFile(t, mapping, unix.MAP_SHARED)] = "mapped"
	other := map[outputs.Inode]string{
		inodeOf(t, open(dir, "read", os.O_RDONLY)):                             "read",
		mapFile(t, open(dir, "mapped privately", os.O_RDWR), unix.MAP_PRIVATE): "mapped privately",
	}
	elsewhere := open("/dev/shm", "scidex-writers-"+strconv.Itoa(os.Getpid()), os.O_WRONLY)
	if err := os.Remove(elsewhere.Name()); err != nil {
		t.Fatal(err)
	}
	other[inodeOf(t, elsewhere)] = "elsewhere"

	var mount unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_MNT_ID, &mount); err != nil {
		t.Fatal(err)
	}
	own := onlyThis(t)
	found, err := writers(own, []uint64{mount.Mnt_id}, math.MaxInt32, 0)
	if err != nil {
		t.Error(err)
	}
	for inode, name := range want {
		if !slices.Contains(found, inode) {
			t.Errorf("%s is not among %v", name, found)
		}
	}
	for inode, name := range other {
		if slices.Contains(found, inode) {
			t.Errorf("%s is found", name)
		}
	}
	if _, err := writers(own, []uint64{mount.Mnt_id}, 3, 0); err == nil {
		t.Error("with a bound of 3 nothing is said of the rest")
	}
}

// onlyThis is a directory like /proc that has this process alone.
func onlyThis(t *testing.T) string {
	t.Helper()
	dir, pid := t.TempDir(), strconv.Itoa(os.Getpid())
	if err := os.Symlink("/proc/"+pid, filepath.Join(dir, pid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func inodeOf(t *testing.T, f *os.File) outputs.Inode {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return outputs.Inode{Dev: st.Dev, Ino: st.Ino}
}

// mapFile maps a file to be written, and closes it. It returns the device and inode that proc_pid_maps(5) has for it.
func mapFile(t *testing.T, f *os.File, how int) outputs.Inode {
	t.Helper()
	inode := inodeOf(t, f)
	if err := f.Truncate(1); err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return inode
}
