package proof

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// refuses checks that an error names what is wrong; want is empty where nothing is.
func refuses(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// TestStatus changes one field after the other.
func TestStatus(t *testing.T) {
	w := Want{UID: 1000, GID: 100, Umask: 0o27, Filters: 2}
	good := map[string]string{
		"Uid": "1000\t1000\t1000\t1000", "Gid": "100\t100\t100\t100", "CapInh": noCapability, "CapPrm": noCapability, "CapEff": noCapability,
		"CapBnd": noCapability, "CapAmb": noCapability, "NoNewPrivs": "1", "Seccomp": "2", "Seccomp_filters": "2", "Threads": "1",
		"TracerPid": "0", "Umask": "0027", "SigBlk": noCapability,
	}
	refuses(t, "as it should be", checkStatus(good, w), "")
	for name := range good {
		for _, value := range []string{"", "7", good[name] + "0"} {
			bad := maps.Clone(good)
			bad[name] = value
			refuses(t, name, checkStatus(bad, w), name+" is")
		}
	}
}

func TestAlike(t *testing.T) {
	for _, name := range slices.Concat(ofInit[:], ofTemplate[:]) {
		one, other := map[string]string{name: "1"}, map[string]string{name: "2"}
		refuses(t, name, alike(one, one, []string{name}, "init"), "")
		refuses(t, name, alike(one, other, []string{name}, "init"), name+` is "1", not "2"`)
	}
	own, err := readStatus(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Groups", "Cpus_allowed", "SigIgn", "SigCgt", "Seccomp_filters"} {
		if _, is := own[name]; !is {
			t.Errorf("the kernel does not say %s", name)
		}
	}
	if _, err := filtersOf(map[string]string{}); err == nil {
		t.Error("filters that the kernel does not count are none")
	}
}

func TestCompareStat(t *testing.T) {
	like := strings.Fields(strings.Repeat("0 ", statPolicy+1))
	good := slices.Clone(like)
	good[statGroup], good[statSession], good[statExitSignal] = "7", "7", "17"
	refuses(t, "as it should be", compareStat(good, like, "7"), "")
	for _, field := range []int{statGroup, statSession, statTerminal, statNice, statExitSignal, statRealtime, statPolicy} {
		bad := slices.Clone(good)
		bad[field] = "9"
		refuses(t, fmt.Sprint("field ", field), compareStat(bad, like, "7"), "is 9, not")
	}
}

func TestLike(t *testing.T) {
	init := process(t, "nothing", nil)
	for what, want := range map[string]string{
		"nothing": "", "a personality": "personality is", "a mark for the OOM killer": "oom_score_adj is", "a dump of more": "coredump_filter is",
		"a priority for disks": "its priority for disks is",
	} {
		refuses(t, what, checkLike(process(t, what, nil), init), want)
	}
	session := &syscall.SysProcAttr{Setsid: true}
	refuses(t, "a session", checkSession(process(t, "nothing", session), init), "")
	refuses(t, "a nice value", checkSession(process(t, "a nice value", session), init), "its nice value is 7")
	refuses(t, "no session", checkSession(init, init), "its session is")
}

func TestPlace(t *testing.T) {
	init := process(t, "nothing", nil)
	work, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	w := Want{Init: init, Template: init, UID: os.Geteuid(), Work: work}
	refuses(t, "the place", checkPlace(process(t, "nothing", nil), w), "")
	refuses(t, "another directory", checkPlace(process(t, "directory", nil), w), "its working directory is /proc")
	refuses(t, "another program", checkPlace(os.Getppid(), w), "exe is another file")
	if os.Geteuid() == 0 {
		other := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
		w.UID = 1000
		refuses(t, "a process that is not dumpable", checkPlace(process(t, "secrecy", other), w), "its files are of user 0")
	}
}

// TestNamespaces has a process in another namespace of each kind.
func TestNamespaces(t *testing.T) {
	init := process(t, "nothing", nil)
	refuses(t, "the same", checkNamespaces(process(t, "nothing", nil), init), "")
	for kind, flag := range map[string]uintptr{
		"mnt": unix.CLONE_NEWNS, "ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "net": unix.CLONE_NEWNET, "pid": unix.CLONE_NEWPID,
		"pid_for_children": unix.CLONE_NEWPID, "cgroup": unix.CLONE_NEWCGROUP, "user": 0,
	} {
		pid := process(t, "nothing", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | flag})
		refuses(t, kind, checkNamespaces(pid, init), "ns/"+kind+" is")
	}
}

func TestDescriptors(t *testing.T) {
	one, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	pid := echo(t, one)
	want := map[int]*os.File{}
	entries, err := os.ReadDir(path(pid, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries { // this process may have inherited some
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if want[fd], err = os.OpenFile(path(pid, "fd/"+entry.Name()), unix.O_PATH, 0); err != nil {
			t.Fatal(err)
		}
	}
	refuses(t, "all", checkDescriptors(pid, want), "")
	for what, change := range map[string]func(map[int]*os.File){
		"it has descriptor 3":  func(w map[int]*os.File) { delete(w, 3) },
		"is another file":      func(w map[int]*os.File) { w[3] = other },
		"descriptors, not":     func(w map[int]*os.File) { w[99] = other },
		"fd/3 is another file": func(w map[int]*os.File) { w[3] = want[0] },
	} {
		changed := maps.Clone(want)
		change(changed)
		refuses(t, what, checkDescriptors(pid, changed), what)
	}
}

func TestMapping(t *testing.T) {
	for _, test := range []struct {
		line  string
		fixed bool // the file is one of a read-only mount
		own   bool
	}{
		{"1-2 rw-p 0 00:00 0 ", false, true},
		{"1-2 rw-p 0 00:00 0    [heap]", false, true},
		{"1-2 rw-s 0 00:01 9    /dev/zero (deleted)", false, false},
		{"1-2 rw-s 0 00:01 9    /SYSV00000000 (deleted)", false, false},
		{"1-2 r--s 0 00:01 9    /memfd:x (deleted)", false, false},
		{"1-2 r--p 0 00:01 9    /memfd:x (deleted)", false, false},
		{"1-2 r--p 0 00:01 9    /tmp/x", false, false},
		{"1-2 r--p 0 08:01 9    /usr/lib/x.so", true, true},
		{"1-2 rw-p 0 08:01 9    /usr/lib/x.so", true, true},
		{"1-2 r--s 0 08:01 9    /usr/lib/gconv.cache", true, true},
		{"1-2 rw-s 0 08:01 9    /usr/lib/x", true, false},
		{"1-2 rw-s 0 00:01 9    anon_inode:[x]", false, false},
	} {
		m, err := parseMapping(test.line + "\n")
		if err != nil || m.own(test.fixed) != test.own {
			t.Errorf("%q is %+v (%v), and the process's own: %t", test.line, m, err, !test.own)
		}
	}
	if m, _ := parseMapping("1-2 r--p 0 08:01 9    /a  b c\n"); m.name != "/a  b c" {
		t.Errorf("the name is %q", m.name)
	}
	if _, err := parseMapping("1-2 r--p\n"); err == nil {
		t.Error("half a line is a mapping")
	}
}

func TestMappings(t *testing.T) {
	for _, what := range []string{"shared memory", "a file"} {
		refuses(t, what, checkMappings(process(t, what, nil), os.Getpid(), nil), "it shares memory")
	}
}

// TestNothingShared: two threads of a process share all.
func TestNothingShared(t *testing.T) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%d threads (%v)", len(tasks), err)
	}
	var threads [2]int
	for i := range threads {
		if threads[i], err = strconv.Atoi(tasks[i].Name()); err != nil {
			t.Fatal(err)
		}
	}
	shares := checkNothingShared(threads[0], threads[1])
	for _, what := range []string{"memory", "descriptors", "directories", "signal handlers"} {
		refuses(t, what, shares, "shares its "+what)
	}
	refuses(t, "another process", checkNothingShared(process(t, "nothing", nil), os.Getpid()), "")
	refuses(t, "no process", checkNothingShared(1<<30, os.Getpid()), "kcmp: no such process")
	shared := &syscall.SysProcAttr{Cloneflags: unix.CLONE_FS}
	refuses(t, "directories", checkNothingShared(process(t, "nothing", shared), os.Getpid()), "shares its directories")
}

func TestPair(t *testing.T) {
	dir := t.TempDir()
	for n, names := range [][]string{{}, {"1"}, {"1", "sys", "meminfo"}, {"1", "9"}, {"1", "9", "12"}} {
		proc := filepath.Join(dir, fmt.Sprint(n))
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(proc, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		want := "processes, not 2"
		if n == 0 {
			want = "no such file"
		} else if slices.Contains(names, "9") && len(names) == 2 {
			want = ""
		}
		refuses(t, fmt.Sprint(names), Pair(proc), want)
		if n == 1 || n == 2 { // one has ended
			want = ""
		}
		refuses(t, fmt.Sprint(names), AtMostPair(proc), want)
	}
}

func TestChild(t *testing.T) {
	pid, init := process(t, "nothing", nil), process(t, "nothing", nil)
	refuses(t, "a child", Child(pid, init), "")
	refuses(t, "init", Child(init, init), "is the container's init")
	refuses(t, "another's child", Child(os.Getpid(), init), "is a child of")
	refuses(t, "no process", Child(1<<30, init), "no such file")
	apart := process(t, "nothing", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID})
	refuses(t, "a child in another container", Child(apart, init), "ns/pid is")
}

// TestTemplate: what was noted is compared.
func TestTemplate(t *testing.T) {
	if _, err := NoteTemplate(process(t, "nothing", nil), 0, time.Time{}); err == nil || !strings.Contains(err.Error(), "has started threads") {
		t.Errorf("a Go program is noted as a template: %v", err)
	}
	template := &Template{pid: process(t, "nothing", nil), filters: 1}
	links, err := template.read()
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, "filters", template.check(links), "0 filters of system calls, not")
	refuses(t, "a descriptor", template.check(map[string]string{"fd/7": "socket:[1]"}), "it has socket:[1] open as descriptor 7")
	for name := range links {
		template.links = maps.Clone(links)
		template.links[name] = "other"
		refuses(t, name, template.Unchanged(func() error { return nil }), "the template has changed")
	}
	refuses(t, "a template that goes on", template.stands(), "does not stop")
	stopped := false
	_ = template.Unchanged(func() error {
		stopped = template.stands() == nil
		return nil
	})
	if !stopped {
		t.Error("the template goes on while one looks")
	}
	template.pid = 1 << 30
	refuses(t, "a dead template", template.Unchanged(func() error { return nil }), "stop the template")
}

func TestStrays(t *testing.T) {
	own := fmt.Sprint(os.Getpid())
	for _, test := range []struct {
		numbers, parent string
		astray          bool
	}{
		{"9", "7", true}, {"9", own, true}, {"9\t1", own, false}, {"9\t2", own, true}, {"9\t2", "8", false}, {"9\t1\t1", own, false},
	} {
		if got := astray(map[string]string{"NSpid": test.numbers, "PPid": test.parent}); got != test.astray {
			t.Errorf("%+v: %t", test, got)
		}
	}
	apart := process(t, "nothing", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS})
	namespace, err := os.Open(path(apart, "ns/mnt"))
	if err != nil {
		t.Fatal(err)
	}
	defer namespace.Close()
	if within, err := Within(namespace); err != nil || !slices.Equal(within, []int{apart}) {
		t.Errorf("%v (%v) are in the namespace of %d", within, err, apart)
	}
}
