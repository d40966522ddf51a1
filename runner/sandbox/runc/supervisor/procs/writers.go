package procs

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/procfs"
)

// mostDescriptors bounds the open files, and mappings, of the remaining processes that are checked.
const mostDescriptors = 1 << 18

// stopBound bounds how long a SIGSTOP may take to reach all of them: one in a system call stops when that returns.
const stopBound = time.Second

// errUnseen says that there may be more writers than found.
var errUnseen = errors.New("not all descriptors could be looked at")

// writers finds the regular files on mounts that processes have open for writing, or mapped so, from every process but
// init in proc. They have been sent SIGSTOP, and it waits until they have stopped. With errUnseen there may be more. A
// descriptor only in flight through a socket is not found.
func writers(proc string, mounts []uint64, most int, wait time.Duration) ([]outputs.Inode, error) {
	pids, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	s := writerSurvey{mounts: mounts, left: most, until: time.Now().Add(wait), found: map[outputs.Inode]bool{}}
	for _, entry := range pids {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != 1 {
			s.process(filepath.Join(proc, entry.Name()))
		}
	}
	list := make([]outputs.Inode, 0, len(s.found))
	for inode := range s.found {
		list = append(list, inode)
	}
	return list, s.err
}

type writerSurvey struct {
	mounts []uint64
	left   int // to check
	until  time.Time
	found  map[outputs.Inode]bool
	err    error
}

// process checks all threads: the first may have ended, and has no mappings then, and others may have their own descriptors.
func (s *writerSurvey) process(dir string) {
	threads, err := os.ReadDir(filepath.Join(dir, "task"))
	s.note(dir, err)
	mapped := false
	for _, thread := range threads {
		task := filepath.Join(dir, "task", thread.Name())
		s.awaitStop(task)
		if s.descriptors(task); !mapped && !exiting(task) {
			s.mappings(task)
			mapped = true
		}
	}
}

// note keeps an error unless the thread has ended.
func (s *writerSurvey) note(task string, err error) {
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) || exiting(task) {
		return
	}
	s.err = errors.Join(errUnseen, err)
}

// awaitStop waits until a thread stops or exits.
func (s *writerSurvey) awaitStop(task string) {
	for !stopped(task) && time.Now().Before(s.until) {
		time.Sleep(time.Millisecond)
	}
}

func stopped(task string) bool {
	stat, err := procfs.ReadStat(task)
	if err != nil || exited(stat) {
		return true
	}
	state, _ := stat.State()
	return strings.Contains("TtZX", state)
}

// exiting reports whether a thread is exiting: then it writes no more, and its /proc is closed.
func exiting(task string) bool {
	stat, err := procfs.ReadStat(task)
	return err != nil || exited(stat)
}

// exited reports whether the flags of a thread say so; a line without flags is that of one that has ended.
func exited(stat procfs.Stat) bool {
	const flags, pfExiting = 9, 0x4 // PF_EXITING
	set, err := stat.Number(flags)
	return err != nil || set&pfExiting != 0
}

// another reports whether one more may be checked.
func (s *writerSurvey) another() bool {
	if s.left == 0 {
		s.err = errUnseen
		return false
	}
	s.left--
	return true
}

func (s *writerSurvey) descriptors(task string) {
	fds, err := os.Open(filepath.Join(task, "fd"))
	if err != nil {
		s.note(task, err)
		return
	}
	defer fds.Close()
	names, err := fds.Readdirnames(s.left + 1)
	if !errors.Is(err, io.EOF) {
		s.note(task, err)
	}
	for _, name := range names {
		if !s.another() {
			return
		}
		if s.writes(task, name) {
			s.file(task, name)
		}
	}
}

// writes reports from proc_pid_fdinfo(5), which involves no file system, whether fd is open for writing on one of the mounts.
func (s *writerSurvey) writes(task, fd string) bool {
	text, err := os.ReadFile(filepath.Join(task, "fdinfo", fd))
	s.note(task, err)
	var flags, mount uint64
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); key {
		case "flags":
			flags, _ = strconv.ParseUint(value, 8, 64)
		case "mnt_id":
			mount, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	return slices.Contains(s.mounts, mount) && flags&unix.O_PATH == 0 && flags&unix.O_ACCMODE != unix.O_RDONLY
}

func (s *writerSurvey) file(task, fd string) {
	var st unix.Stat_t
	err := unix.Stat(filepath.Join(task, "fd", fd), &st)
	s.note(task, err)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		s.found[outputs.Inode{Dev: st.Dev, Ino: st.Ino}] = true
	}
}

// mappings records shared writable mappings, even after their descriptor was closed (proc_pid_maps(5)).
func (s *writerSurvey) mappings(task string) {
	maps, err := os.Open(filepath.Join(task, "maps"))
	if err != nil {
		s.note(task, err)
		return
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() && s.another() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 || len(fields[1]) < 4 || fields[1][1] != 'w' || fields[1][3] != 's' {
			continue
		}
		if inode, ok := mappedFile(fields[3], fields[4]); ok {
			s.found[inode] = true
		}
	}
	s.note(task, lines.Err())
}

// mappedFile reads a device and inode of proc_pid_maps(5).
func mappedFile(device, number string) (outputs.Inode, bool) {
	high, low, _ := strings.Cut(device, ":")
	major, err1 := strconv.ParseUint(high, 16, 32)
	minor, err2 := strconv.ParseUint(low, 16, 32)
	ino, err3 := strconv.ParseUint(number, 10, 64)
	return outputs.Inode{Dev: unix.Mkdev(uint32(major), uint32(minor)), Ino: ino}, errors.Join(err1, err2, err3) == nil && ino > 0
}

// WorkWriters finds the files of /work, which is mounted at these paths inside, that the rest of the analysis has open for writing. On
// an error there may be more.
func WorkWriters(proc string, work []string) ([]outputs.Inode, error) {
	mounts, err := mountsAt(filepath.Join(proc, "1/root"), work)
	if err != nil {
		return nil, err
	}
	return writers(proc, mounts, mostDescriptors, stopBound)
}
