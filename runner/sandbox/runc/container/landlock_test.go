package container

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
)

// version is what our init must report here.
func version() int32 { return int32(landlock.Version()) }

// programs are where a shell and its tools are.
func programs() (options []string) {
	for _, dir := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"} {
		if _, err := os.Stat(dir); err == nil {
			options = append(options, "--read="+dir)
		}
	}
	return append(options, "--use=/dev")
}

// TestInitRules: what only Landlock stops works without rules, and does not with them.
func TestInitRules(t *testing.T) {
	if version() == 0 {
		t.Skip("the kernel has no Landlock")
	}
	dir := t.TempDir()
	for _, path := range []string{"leaked/secret", "leaked/other/place", "work/a/one", "work/b/two"} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaked, err := os.Open(filepath.Join(dir, "leaked"))
	if err != nil {
		t.Fatal(err)
	}
	defer leaked.Close()
	work := filepath.Join(dir, "work")
	for _, c := range []struct {
		name, command string
		since         int32 // the version that stops it
	}{
		{"read by a leaked descriptor (CVE-2024-21626)", "cat /proc/self/fd/4/secret", 2},
		{"list by it", "ls /proc/self/fd/4/", 2},
		{"leave by it", "cd /proc/self/fd/4/ && cat secret", 2},
		{"write by it", "echo x >/proc/self/fd/4/new", 2},
		{"remove by it", "rm /proc/self/fd/4/new", 2},
		{"move within it", "mv /proc/self/fd/4/secret /proc/self/fd/4/moved", 2},
		{"link out of it", "ln /proc/self/fd/4/moved " + work + "/link", 2},
		{"truncate by it", "truncate -s 0 /proc/self/fd/4/moved", 2},
		{"signal what started it", "kill -0 $PPID", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := newCall(t)
			call.note = leaked
			sh := []string{"--", "sh", "-c", c.command}
			options := append(programs(), "--write="+work)
			ruled := call.run(slices.Concat(options, sh)...)
			if refused := ruled.values[reportEnded] != 0; refused != (version() >= c.since) || strings.Contains(ruled.stdout, "secret") && refused {
				t.Errorf("under version %d: status %#x, %q", version(), ruled.values[reportEnded], ruled.stdout)
			}
			call.run(sh...).expect(t, 0, 0, reportExecuted, reportEnded)
		})
	}
}

// TestInitRulesLetWork: what an analysis does in its places goes on.
func TestInitRulesLetWork(t *testing.T) {
	work := t.TempDir()
	const command = `set -e
cd "$1"; mkdir a b a/dir; echo x >a/one; ln a/one b/linked; mv a/dir b/; ln -s one a/link; mkfifo a/fifo; : >a/one; rm -r a
echo x >/dev/null; cat </dev/stdin; cat </dev/null; echo well | cat /dev/stdin >/dev/stdout`
	c := newCall(t)
	e := c.run(slices.Concat(programs(), []string{"--write=" + work, "--", "sh", "-c", command, "sh", work})...)
	e.expect(t, 0, 0, reportRuled, reportExecuted, reportEnded)
	if e.values[reportRuled] != version() || e.stdout != "well\n" {
		t.Errorf("version %d, want %d; %q", e.values[reportRuled], version(), e.stdout)
	}
	if version() == 0 {
		return
	}
	// Standard input may be a device of the host's.
	reads := programs()
	reads = reads[:len(reads)-1]
	c.run(append(reads, "--", "sh", "-c", "cat </dev/stdin && ! cat </dev/full")...).expect(t, 0, 0, reportRuled, reportExecuted, reportEnded)
	// A place that is only read is not written to.
	denied := c.run(append(programs(), "--read="+work, "--", "sh", "-c", `ln "$1"/b/linked "$1"/new`, "sh", work)...)
	if denied.values[reportEnded] == 0 {
		t.Error("a place that is read was written to")
	}
}

// TestInitWithoutLandlock: where the kernel has none the analysis starts, and where it has it and fails it does not.
func TestInitWithoutLandlock(t *testing.T) {
	read := []string{"--read=/", "--", "true"}
	for _, c := range []struct {
		name  string
		call  uint32
		errno syscall.Errno
		args  []string
		code  int
		value int32
		kinds []uint32
	}{
		{"no Landlock", unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, read, 0, 0, []uint32{reportRuled, reportExecuted, reportEnded}},
		{"turned off", unix.SYS_LANDLOCK_CREATE_RULESET, unix.EOPNOTSUPP, read, 0, 0, []uint32{reportRuled, reportExecuted, reportEnded}},
		{"no rules", unix.SYS_LANDLOCK_CREATE_RULESET, unix.EPERM, read, 125, int32(unix.EPERM), []uint32{reportUnruled}},
		{"not asked for", unix.SYS_LANDLOCK_CREATE_RULESET, unix.EPERM, read[1:], 0, 0, []uint32{reportExecuted, reportEnded}},
		{"no rule", unix.SYS_LANDLOCK_ADD_RULE, unix.ENOMEM, read, 125, int32(unix.ENOMEM), []uint32{reportUnruled}},
		{"no place", unix.SYS_LANDLOCK_ADD_RULE, 0, []string{"--read=/nowhere", "--", "true"}, 125, int32(unix.ENOENT), []uint32{reportUnruled}},
		{"not restricted", unix.SYS_LANDLOCK_RESTRICT_SELF, unix.E2BIG, read, 125, int32(unix.E2BIG), []uint32{reportRuled, reportUnruled, reportRefused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if version() == 0 && slices.Contains(c.kinds, reportUnruled) {
				t.Skip("the kernel has no Landlock")
			}
			call := newCall(t)
			call.filter = failing(c.call, c.errno)
			e := call.run(c.args...)
			e.expect(t, c.code, c.value, c.kinds...)
			if c.code == 0 && e.values[reportRuled] != 0 {
				t.Errorf("it reports version %d", e.values[reportRuled])
			}
		})
	}
}

// failing is a filter by which one call fails; 0: none.
func failing(call uint32, errno syscall.Errno) []byte {
	if errno == 0 {
		return allow
	}
	return program(
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	)
}
