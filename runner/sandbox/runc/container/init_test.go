package container

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/container/initc"
)

// allow is a filter of one step that allows all (seccomp(2)).
var allow = program(unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})

func program(steps ...unix.SockFilter) []byte {
	var b bytes.Buffer
	for _, s := range steps {
		_ = binary.Write(&b, binary.NativeEndian, s)
	}
	return b.Bytes()
}

// ending is what one process of our init came to.
type ending struct {
	kinds  []uint32         // of its reports, but for those of use
	values map[uint32]int32 // by kind
	files  int
	code   int
	stdout string
}

// call is one start of our init outside of a container. It is no PID 1 there: orphans and signals are the end-to-end tests'.
type call struct {
	t       *testing.T
	program string
	before  []string // a command that executes it
	filter  []byte
	env     []string
	note    *os.File // its descriptor 4
	answer  byte     // 0: none
}

func newCall(t *testing.T) call {
	t.Helper()
	content, err := initc.Program()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "init")
	if err := os.WriteFile(file, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return call{t: t, program: file, filter: allow, env: []string{"PATH=/usr/bin:/bin"}}
}

func (c call) run(args ...string) ending {
	t := c.t
	t.Helper()
	r, inits, err := newReports()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.filter(c.filter); err != nil {
		t.Fatal(err)
	}
	if c.answer != 0 {
		r.answer(c.answer) // the socket buffers it
	}
	argv := slices.Concat(c.before, []string{c.program}, args)
	cmd := exec.Command(argv[0], argv[1:]...)
	var stdout bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.ExtraFiles = c.env, filepath.Dir(c.program), &stdout, []*os.File{inits}
	if c.note != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.note)
	}
	last := trace.Now()
	if err := startUnprivileged(cmd); err != nil {
		t.Fatal(err)
	}
	inits.Close()
	e := ending{values: map[uint32]int32{}}
	for {
		got, err := r.next()
		if err != nil {
			break
		}
		if got.at < last || got.at > trace.Now() {
			t.Errorf("report %d is of %d, after %d", got.kind, got.at, last)
		}
		last = got.at
		e.values[got.kind] = got.value
		if got.kind != reportMaxRSS && got.kind != reportCPU {
			e.kinds = append(e.kinds, got.kind)
		}
		if got.file != nil {
			e.files++
			got.file.Close()
		}
	}
	_ = cmd.Wait()
	e.code, e.stdout = cmd.ProcessState.ExitCode(), stdout.String()
	return e
}

// startUnprivileged starts it with no_new_privs, without which only root may load a filter. That belongs to a thread,
// which ends with its goroutine, as it is never unlocked.
func startUnprivileged(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}

// expect compares exit code and reports, and of the last report the value.
func (e ending) expect(t *testing.T, code int, value int32, kinds ...uint32) {
	t.Helper()
	if e.code != code || !slices.Equal(e.kinds, kinds) {
		t.Errorf("exit code %d, reports %v; want %d, %v; values %v", e.code, e.kinds, code, kinds, e.values)
		return
	}
	if len(kinds) > 0 && e.values[kinds[len(kinds)-1]] != value {
		t.Errorf("values %v; want %d at last", e.values, value)
	}
}

func TestInitReports(t *testing.T) {
	c := newCall(t)
	c.run("--", "true").expect(t, 0, 0, reportExecuted, reportEnded)
	c.run("--", "sh", "-c", "exit 3").expect(t, 0, 3<<8, reportExecuted, reportEnded)
	c.run("--", "sh", "-c", "kill -9 $$").expect(t, 0, 9, reportExecuted, reportEnded)
	c.run("--trace", "--", "true").expect(t, 0, 0, reportBegun, reportFiltered, reportExecuted, reportEnded)
	e := c.run("--audit", "--", "true")
	e.expect(t, 0, 0, reportAudited, reportExecuted, reportEnded)
	if e.files != 1 {
		t.Errorf("%d descriptors", e.files)
	}
	// In KiB and milliseconds: no errno, and of the size of a small program.
	if e.values[reportMaxRSS] < 100 || e.values[reportCPU] < 0 {
		t.Errorf("usage: %v", e.values)
	}
}

// TestInitAhead starts a command with further variables and two descriptors, and lets it go on, or starts it anew without them.
// It is no PID 1 here, and so kills nothing.
func TestInitAhead(t *testing.T) {
	const command = `if [ -z "$ONE" ]; then echo anew; for fd in 4 5; do [ ! -e /proc/self/fd/$fd ] || echo $fd; done; exit 4; fi
echo "$ONE $TWO" >&4; exec 4>&-; if [ "$TWO" = ends ]; then exit; fi; read x <&5; echo on`
	for name, c := range map[string]struct {
		answer     byte
		two        string
		code       int32
		out, noted string
	}{
		"pass": {answerPass, "stays", 0, "on\n", "1 stays\n"},
		"anew": {answerAnew, "ends", 4 << 8, "anew\n", "1 ends\n"},
	} {
		t.Run(name, func(t *testing.T) {
			note, noted, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer note.Close()
			call := newCall(t)
			call.note, call.answer = noted, c.answer
			e := call.run("--ahead=ONE=1", "--ahead=TWO="+c.two, "--", "sh", "-c", command)
			e.expect(t, 0, c.code, reportExecuted, reportEnded)
			noted.Close()
			said, err := io.ReadAll(note)
			if err != nil || string(said) != c.noted || e.stdout != c.out {
				t.Errorf("it noted %q, %v, and said %q", said, err, e.stdout)
			}
		})
	}
	// A script may do what it likes: it is not started ahead.
	script := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"started${ONE:+ ahead}\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	call := newCall(t)
	call.answer = answerAnew
	call.note = os.Stderr
	if e := call.run("--ahead=ONE=1", "--", script); e.stdout != "started\n" {
		t.Errorf("%q", e.stdout)
	}
}

func TestInitRefusesOptions(t *testing.T) {
	c := newCall(t)
	for _, args := range [][]string{
		nil,
		{"--"},
		{"true"},
		{"--what", "--", "true"},
		{"--audit=1", "--", "true"},
		{"--trace=1", "--", "true"},
		{"--data", "1", "--", "true"},
		{"--data=", "--", "true"},
		{"--data=x", "--", "true"},
		{"--data=1x", "--", "true"},
		{"--data= 1", "--", "true"},
		{"--data=-1", "--", "true"},
		{"--nofile=", "--", "true"},
		{"--ahead=A=1", "--ahead=B=2", "--ahead=C=3", "--", "true"},
		{"--read=", "--", "true"},
		{"--read=usr", "--", "true"},
		{"--execute=/usr", "--", "true"},
		slices.Concat(slices.Repeat([]string{"--read=/"}, 17), []string{"--", "true"}),
		{"--nproc=+1", "--", "true"},
		{"--nproc=0x10", "--", "true"},
		{"--data=18446744073709551616", "--", "true"},
		{"--data=18446744073709551625", "--", "true"},
		{"--nproc=184467440737095516150", "--", "true"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) { c.run(args...).expect(t, 125, 0) })
	}
}

func TestInitRefusesFilters(t *testing.T) {
	tooMany := bytes.Repeat(allow, 4097) // BPF_MAXINSNS and one
	for name, f := range map[string]struct {
		program []byte
		errno   syscall.Errno
	}{
		"none":        {nil, syscall.EBADMSG},
		"half a step": {allow[:4], syscall.EBADMSG},
		"too many":    {tooMany, syscall.EBADMSG},
		"no verdict":  {program(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_IMM}), syscall.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.filter = f.program
			c.run("--", "true").expect(t, 125, int32(f.errno), reportOpen)
		})
	}
	c := newCall(t)
	c.filter = tooMany[:len(tooMany)-len(allow)]
	c.run("--", "true").expect(t, 0, 0, reportExecuted, reportEnded)
}

// TestInitSearch: as execvp(3) does, without its shell.
func TestInitSearch(t *testing.T) {
	dir := t.TempDir()
	for path, mode := range map[string]os.FileMode{"closed/true": 0o644, "closed/only": 0o644, "strange/odd": 0o755, "file": 0o644} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("no program\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	closed, strange, file := filepath.Join(dir, "closed"), filepath.Join(dir, "strange"), filepath.Join(dir, "file")
	// With "/true" it has as many bytes as a path may have, 4095.
	longest := strings.Repeat("/", unix.PathMax-1-len("bin/true")) + "bin"
	for _, s := range []struct {
		path, command string
		errno         syscall.Errno
	}{
		{"/usr/bin", "true", 0},
		{"::/nowhere:" + file + ":" + closed + ":/usr/bin", "true", 0},
		{"/usr/bin:", "true", 0},
		{"/nowhere", "true", syscall.ENOENT},
		{closed + ":/nowhere", "only", syscall.EACCES},
		{"/nowhere:" + closed, "only", syscall.EACCES},
		{strange + ":/usr/bin", "odd", syscall.ENOEXEC},
		{"", "true", syscall.ENOENT},
		{":", "init", syscall.ENOENT},    // not the working directory
		{"/usr/bin", "", syscall.EACCES}, // the directory itself
		{"/usr/bin", strings.Repeat("n", 256), syscall.ENOENT},
		{"/usr/bin", strings.Repeat("n", 5000), syscall.ENOENT},
		{longest, "true", 0},
		{"/" + longest, "true", syscall.ENOENT},
		{"/" + longest + ":/usr/bin", "true", 0},
		{"/nowhere", "/usr/bin/true", 0},
		{"/usr/bin", "./true", syscall.ENOENT},
		{"/usr/bin", "/etc/passwd", syscall.EACCES},
		{"/usr/bin", file + "/true", syscall.ENOTDIR},
	} {
		t.Run(fmt.Sprintf("%.30s %.30s", s.path, s.command), func(t *testing.T) {
			c := newCall(t)
			c.env = []string{"PATHS=/usr/bin", "PATH=" + s.path, "APATH=/usr/bin"}
			e := c.run("--", s.command)
			if s.errno == 0 {
				e.expect(t, 0, 0, reportExecuted, reportEnded)
				return
			}
			e.expect(t, 125, int32(s.errno), reportRefused)
		})
	}
	c := newCall(t)
	c.env = []string{"HOME=/"}
	c.run("--", "true").expect(t, 125, int32(syscall.ENOENT), reportRefused)
}

// TestInitCleans: the analysis has its limits, no signal that is ignored or blocked, a session, and no report socket.
func TestInitCleans(t *testing.T) {
	c := newCall(t)
	c.before = []string{"/usr/bin/env", "--ignore-signal=INT,TERM,PIPE,USR1,RTMAX", "--block-signal"}
	e := c.run("--nproc=54321", "--nofile=123", "--data=1234567890", "--", "sh", "-c", `
		read -r self _ _ _ _ session _ </proc/self/stat && [ "$self" = "$session" ] && echo leads
		[ -e /proc/self/fd/2 ] && [ ! -e /proc/self/fd/3 ] && [ ! -e /proc/self/fd/4 ] && [ ! -e /proc/self/fd/5 ] && echo closed
		exec grep -hE '^Sig(Blk|Ign)|Max (data|open|processes)' /proc/self/status /proc/self/limits`) // gawk would ignore SIGPIPE itself
	e.expect(t, 0, 0, reportExecuted, reportEnded)
	want := `leads closed SigBlk: 0000000000000000 SigIgn: 0000000000000000 Max data size 1234567890 1234567890 bytes ` +
		`Max processes 54321 54321 processes Max open files 123 123 files`
	if got := strings.Join(strings.Fields(e.stdout), " "); got != want {
		t.Errorf("it says\n%s\nand should say\n%s", got, want)
	}
}
