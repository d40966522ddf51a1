package proof

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test program is executed again as a process that does what one of these names says, and waits.
var doings = map[string]func() error{
	"nothing": func() error { return nil },
	"shared memory": func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
		return err
	},
	"a file": func() error {
		file, err := os.CreateTemp("", "proof")
		if err != nil {
			return err
		}
		_ = os.Remove(file.Name())
		if err := file.Truncate(4096); err != nil {
			return err
		}
		_, err = unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
		return err
	},
	"a personality": func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, 0x20000, 0, 0)
		return errnoOf(errno)
	},
	"a nice value": func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 7) },
	"a mark for the OOM killer": func() error {
		return os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0)
	},
	"a dump of more": func() error { return os.WriteFile("/proc/self/coredump_filter", []byte("0xff"), 0) },
	"a priority for disks": func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_SET, 1, 0, 3<<13)
		return errnoOf(errno)
	},
	"secrecy":   func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) },
	"directory": func() error { return os.Chdir("/proc") },
}

func errnoOf(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

const doing = "SCIDEX_TEST_DOES"

func TestMain(m *testing.M) {
	if what := os.Getenv(doing); what != "" {
		if err := doings[what](); err != nil {
			panic(err)
		}
		os.Stdout.Write([]byte{0})
		time.Sleep(time.Hour) // until it is killed
	}
	os.Exit(m.Run())
}

// process starts one that does something, and returns its pid when it has.
func process(t *testing.T, what string, attr *syscall.SysProcAttr) int {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.SysProcAttr, cmd.Stderr = append(os.Environ(), doing+"="+what), attr, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("a process that does %s: %v", what, err)
	}
	return cmd.Process.Pid
}

// echo is a process that opens nothing any more.
func echo(t *testing.T, files ...*os.File) int {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.ExtraFiles = files
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := in.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}
