// Package procs looks at the processes of a container through its /proc, and kills them: their use, their open files, and
// whether they run. PID 1 there is our init.
package procs

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open opens the /proc of the container that process pid is in, which shows only its processes. The file's name is a path
// to it.
func Open(pid int) (*os.File, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/root/proc"
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the container's /proc: %w", err)
	}
	proc := os.NewFile(uintptr(fd), "/proc/self/fd/"+strconv.Itoa(fd))
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil || st.Type != unix.PROC_SUPER_MAGIC {
		return nil, errors.Join(errors.New("the container's /proc is none"), err, proc.Close())
	}
	return proc, nil
}
