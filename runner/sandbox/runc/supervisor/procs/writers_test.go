package procs

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

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

// leaderless maps a file in a thread that outlives the first one of its process.
const leaderless = `
import ctypes, mmap, sys, threading, time
with open(sys.argv[1], "w+b") as f:
    f.truncate(1)
    m = mmap.mmap(f.fileno(), 1)
def rest():
    print("up", flush=True)
    time.sleep(1000)
threading.Thread(target=rest).start()
ctypes.CDLL(None).syscall(int(sys.argv[2]), 0)
`

// TestWritersWithoutTheFirstThread: a process whose first thread has ended shows its mappings only by another one.
func TestWritersWithoutTheFirstThread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mapped")
	cmd := exec.Command("python3", "-c", leaderless, path, strconv.Itoa(unix.SYS_EXIT))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for first := fmt.Sprintf("/proc/%d/task/%[1]d", cmd.Process.Pid); !exiting(first); {
		time.Sleep(time.Millisecond)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := writers(only(t, cmd.Process.Pid), nil, math.MaxInt32, 0)
	if err != nil || !slices.Contains(found, inodeOf(t, f)) {
		t.Errorf("found %v, want %v: %v", found, inodeOf(t, f), err)
	}
}

// onlyThis is a directory like /proc that has only this process.
func onlyThis(t *testing.T) string { return only(t, os.Getpid()) }

func only(t *testing.T, process int) string {
	t.Helper()
	dir, pid := t.TempDir(), strconv.Itoa(process)
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
