package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// updatePosture names a directory to which each tier of the tests writes new golden files:
//
//	SCIDEX_OCI_UPDATE_POSTURE=DIR scripts/test
//
// and then copied to testdata/posture. As root first: NAME.golden is what root sees, NAME.TIER.golden what differs in
// another tier.
const updatePosture = "SCIDEX_OCI_UPDATE_POSTURE"

// difference lists what is in one and not in the other; both are sorted sets.
func difference(a, b []string) (lines []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

func tier() string {
	switch {
	case theHost.root:
		return "root"
	case theHost.ranged:
		return "range"
	}
	return "single"
}

// golden names the file of this tier, if it has one, and that of all.
func golden(dir, name string) (own, common string) {
	return filepath.Join(dir, name+"."+tier()+".golden"), filepath.Join(dir, name+".golden")
}

func compareGolden(t *testing.T, name string, lines []string) {
	t.Helper()
	own, common := golden("testdata/posture", name)
	want, err := os.ReadFile(own)
	if errors.Is(err, fs.ErrNotExist) {
		want, err = os.ReadFile(common)
	}
	if dir := os.Getenv(updatePosture); dir != "" {
		writeGolden(t, dir, name, lines)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	known := strings.FieldsFunc(string(want), func(r rune) bool { return r == '\n' })
	if changed := difference(known, lines); len(changed) > 0 {
		t.Errorf("the posture (%s, as %s) is otherwise than known; golden -, now +:\n%s", name, tier(), strings.Join(changed, "\n"))
	}
}

// writeGolden writes the common file as root, and for another tier only what differs.
func writeGolden(t *testing.T, dir, name string, lines []string) {
	t.Helper()
	own, common := golden(dir, name)
	text := strings.Join(append(lines, ""), "\n")
	same, err := os.ReadFile(common)
	switch {
	case theHost.root, errors.Is(err, fs.ErrNotExist):
		own = common
	case err == nil && string(same) == text:
		return
	}
	if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines describe the posture, sorted, without what differs between hosts and runs.
func (p posture) lines(t *testing.T) []string {
	t.Helper()
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, name := range []string{
		"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters",
		"SigBlk", "SigIgn", "SigCgt", "Umask", "Threads",
	} {
		add("status %s: %s", name, strings.Join(strings.Fields(p.Status[name]), " "))
	}
	for number, kind := range p.Descriptors {
		add("descriptor %s: %s", number, map[string]string{"0o20000": "character device", "0o10000": "pipe"}[kind])
	}
	for name := range p.Environment {
		add("environment %s", name)
	}
	for name, limit := range p.Limits {
		add("limit %s: %s", name, strings.Join([]string{p.limit(t, name, limit[0]), p.limit(t, name, limit[1])}, " "))
	}
	for kind, link := range p.Namespaces {
		add("namespace %s: %s", kind, whose(t, kind, link))
	}
	for _, line := range p.MountInfo {
		if mount := mountLine(line); mount != "" {
			add("mount %s", mount)
		}
	}
	for path, what := range p.Devices {
		add("device %s: %s", path, what)
	}
	for _, name := range p.Root {
		if name != "lib32" && name != "lib64" && name != "libx32" {
			add("root /%s", name)
		}
	}
	for _, path := range p.Writable {
		add("writable %s", path)
	}
	for _, line := range p.Cgroup {
		if path := line[strings.LastIndexByte(line, ':')+1:]; !groupName.MatchString(path) {
			add("control group %s", path)
		}
	}
	add("uid map: %s", idMap(p.UIDMap))
	add("gid map: %s", idMap(p.GIDMap))
	add("processes: %s", strings.Join(p.Processes, " "))
	add("interfaces: %s", strings.Join(p.Interfaces, " "))
	add("oom_score_adj: %s", p.OOMScoreAdj)
	add("user namespaces that may be made: %s", p.UserNamespaces)
	add("scheduling policy, nice, personality: %d", p.scheduling(t))
	add("hostname: %s", p.Hostname)
	add("directory: %s", p.Directory)
	add("controlling terminal: %s, standard streams: %v", p.TTY, p.Terminal)
	slices.Sort(all)
	return slices.Compact(all)
}

var (
	// The root of its namespace, or its own group: that differs with the version and hierarchy.
	groupName = regexp.MustCompile(`^/(scidex-oci-e2e-[^/]*)?$`)
	staged    = regexp.MustCompile(`/run-[^/:,]*/`)
	numbers   = regexp.MustCompile(`\b(size|nr_inodes|uid|gid)=\d+k?`)
)

// scheduling without the niceness of this test, which a caller who is not root cannot lower: the suite may run under nice(1).
func (p posture) scheduling(t *testing.T) []int {
	t.Helper()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Scheduling) > 1 && p.Scheduling[1] == 20-raw { // getpriority(2) of the kernel counts down from 40
		return slices.Replace(slices.Clone(p.Scheduling), 1, 2, 0)
	}
	return p.Scheduling
}

// limit is a value. The caller's own hard limit replaces a value that could not be raised above it: 65536 descriptors,
// or no limit.
func (p posture) limit(t *testing.T, name string, value int64) string {
	t.Helper()
	switch {
	case value < 0:
		return "unlimited"
	case name == "RLIMIT_NOFILE" && value == min(65536, hardFiles(t)):
		return "65536"
	case name == "RLIMIT_NOFILE" && !theHost.root && value == min(4096, hardFiles(t)/2):
		return "65536" // that of a single id, which an ordinary user may have
	case !theHost.cgroup && (name == "RLIMIT_DATA" && value == 2<<30 || name == "RLIMIT_NPROC" && value == 100):
		return "unlimited" // the default bounds, by rlimit if no control group enforces them
	case value == hardLimit(t, name):
		return "unlimited"
	}
	return fmt.Sprint(value)
}

// hardLimit is the caller's, -1 for one that this program does not know or that is none.
func hardLimit(t *testing.T, name string) int64 {
	t.Helper()
	which, ok := map[string]int{
		"RLIMIT_AS": unix.RLIMIT_AS, "RLIMIT_CPU": unix.RLIMIT_CPU, "RLIMIT_DATA": unix.RLIMIT_DATA, "RLIMIT_FSIZE": unix.RLIMIT_FSIZE,
		"RLIMIT_NPROC": unix.RLIMIT_NPROC, "RLIMIT_RSS": unix.RLIMIT_RSS, "RLIMIT_STACK": unix.RLIMIT_STACK,
	}[name]
	if !ok {
		return -1
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(which, &limit); err != nil {
		t.Fatal(err)
	}
	return int64(limit.Max)
}

// whose says whether a namespace is the host's.
func whose(t *testing.T, kind, link string) string {
	t.Helper()
	ours, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		t.Fatal(err)
	}
	if link == ours {
		return "the host's"
	}
	return "its own"
}

// idMap leaves out which ids of the supervisor a run got.
func idMap(fields []string) string {
	var text []string
	for i := 0; i+2 < len(fields); i += 3 {
		text = append(text, fields[i]+" to N, "+fields[i+2])
	}
	return strings.Join(text, "; ")
}

// mountLine is the place, options, kind and the kind's options of a line of proc_pid_mountinfo(5). Of a bind mount only
// place and options are compared; which ones there are below /etc and /var/lib, what is masked below /proc, and when access times
// are written, depends on the host.
func mountLine(line string) string {
	before, after, _ := strings.Cut(line, " - ")
	fields, kind := strings.Fields(before), strings.Fields(after)
	place, options := fields[4], strings.Split(fields[5], ",")
	options = slices.DeleteFunc(options, func(option string) bool { return strings.HasSuffix(option, "atime") })
	switch {
	case strings.HasPrefix(place, "/proc/"):
		return ""
	case strings.HasPrefix(place, "/etc/"), strings.HasPrefix(place, "/var/lib/"):
		place = "/etc/*"
	}
	own := fields[3] == "/" && slices.Contains([]string{"tmpfs", "proc", "devpts", "overlay", "mqueue", "sysfs", "cgroup", "cgroup2"}, kind[0])
	if !own {
		return fmt.Sprintf("%s %s bind", place, strings.Join(options, ","))
	}
	super := slices.DeleteFunc(strings.Split(kind[2], ","), func(option string) bool { return option == "inode64" })
	return fmt.Sprintf("%s %s %s %s", place, strings.Join(options, ","), kind[0], staged.ReplaceAllString(numbers.ReplaceAllString(strings.Join(super, ","), "$1=N"), "/run-ID/"))
}

// hardFiles is the caller's own hard limit of descriptors, above which only the host's root comes.
func hardFiles(t *testing.T) int64 {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int64(limit.Max)
}
