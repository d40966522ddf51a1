package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Values of --ids.
const (
	IDsRange = "range"
	IDsSelf  = "self"
)

// IDRange is a range of host ids, of both users and groups.
type IDRange struct{ Start, Count int }

// rootRange is root's range if /etc/subuid gives none: above every id that useradd assigns.
var rootRange = IDRange{Start: 2_000_000_000, Count: 65536}

// minRange is one id for the outer root (root only) and two for a run.
const minRange = 3

// Account is the caller and its subordinate ids.
type Account struct {
	UID, GID int
	Groups   []int   // supplementary groups
	UIDs     IDRange // Count 0: none
	GIDs     IDRange
	// Notice says why the range in /etc/subuid cannot be used; empty otherwise.
	Notice string
}

// Root reports whether the caller is root of its user namespace.
func (a Account) Root() bool { return a.UID == 0 }

// HasRange reports whether runs can have their own ids.
func (a Account) HasRange() bool { return a.UIDs.Count >= minRange && a.GIDs.Count >= minRange }

// ReadAccount reads the caller's identity and its subuid(5) and subgid(5) ranges.
func ReadAccount() (Account, error) {
	a := Account{UID: os.Geteuid(), GID: os.Getegid()}
	groups, err := os.Getgroups()
	if err != nil {
		return a, fmt.Errorf("read supplementary groups: %w", err)
	}
	for _, g := range groups {
		if g != a.GID {
			a.Groups = append(a.Groups, g)
		}
	}
	names := []string{strconv.Itoa(a.UID)}
	if name, err := passwdField("/etc/passwd", a.UID, 0); err == nil {
		names = append(names, name)
	}
	a.UIDs = readSubID("/etc/subuid", names)
	a.GIDs = readSubID("/etc/subgid", names)
	if a.Root() {
		return a.rootRange()
	}
	if a.HasRange() {
		for _, tool := range []string{"newuidmap", "newgidmap"} {
			if _, err := findTool(tool); err != nil {
				a.UIDs, a.GIDs = IDRange{}, IDRange{}
				a.Notice = tool + " is missing (Debian: apt install uidmap), so the analysis has the caller's own id"
			}
		}
	}
	return a, nil
}

// findTool finds a program even if PATH is empty, as under a service manager.
func findTool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/bin/" + name)
	}
	return path, err
}

// rootRange chooses the ids of root's runs: from subuid(5), the built-in range, or, in a user namespace with neither, the
// upper half of its own map.
func (a Account) rootRange() (Account, error) {
	for _, m := range []struct {
		ids  *IDRange
		path string
	}{{&a.UIDs, "/proc/self/uid_map"}, {&a.GIDs, "/proc/self/gid_map"}} {
		raw, err := os.ReadFile(m.path)
		if err != nil {
			return a, err
		}
		*m.ids = chooseRange(*m.ids, string(raw))
	}
	return a, nil
}

func chooseRange(configured IDRange, idMap string) IDRange {
	if configured.Count >= minRange && mapped(idMap, configured) {
		return configured
	}
	if mapped(idMap, rootRange) {
		return rootRange
	}
	best := IDRange{}
	for line := range strings.Lines(idMap) {
		var inside, outside, count int
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 && count/2 >= minRange && count/2 > best.Count {
			best = IDRange{Start: inside + count - count/2, Count: count / 2}
		}
	}
	return best
}

// mapped reports whether one line of a uid_map (user_namespaces(7)) covers the whole range.
func mapped(idMap string, r IDRange) bool {
	for line := range strings.Lines(idMap) {
		var inside, outside, count int
		n, _ := fmt.Sscan(line, &inside, &outside, &count)
		if n == 3 && r.Start >= inside && r.Start+r.Count <= inside+count {
			return true
		}
	}
	return false
}

// readSubID returns the first range in subuid(5) for one of the names. A missing file or an invalid line gives none: the
// tools that apply the map check again.
func readSubID(path string, names []string) IDRange {
	f, err := os.Open(path)
	if err != nil {
		return IDRange{}
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if len(fields) != 3 || (fields[0] != names[0] && fields[0] != names[len(names)-1]) {
			continue
		}
		start, err1 := strconv.Atoi(fields[1])
		count, err2 := strconv.Atoi(fields[2])
		if err1 == nil && err2 == nil && count >= minRange {
			return IDRange{Start: start, Count: count}
		}
	}
	return IDRange{}
}

// passwdField reads passwd(5) itself: the static binary has no NSS.
func passwdField(path string, uid, field int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) > max(2, field) && fields[2] == strconv.Itoa(uid) {
			return fields[field], nil
		}
	}
	return "", fmt.Errorf("uid %d: %w", uid, fs.ErrNotExist)
}

// Slot is a pair of ids, unique among this user's runs while its lock is held.
type Slot struct {
	// Container and Analysis are ids of the outer user namespace: for the container's root and for the analysis.
	Container, Analysis int
	lock                *os.File
}

// Release frees the pair.
func (s Slot) Release() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// idDirs lists the candidate directories for a user's lock files, one per pair of ids. All catalogs share them: ids
// belong to the user. The first that can be made is used. The home is passwd(5)'s, not HOME's; cleaners of /tmp remove
// old files there, even if locked.
func idDirs(uid int) []string {
	if uid == 0 {
		return []string{"/run/scidex-oci-ids"}
	}
	dirs := []string{fmt.Sprintf("/tmp/scidex-oci-ids-%d", uid)}
	if home, err := passwdField("/etc/passwd", uid, 5); err == nil && filepath.IsAbs(home) {
		dirs = append([]string{filepath.Join(home, ".local/share/scidex-oci-ids")}, dirs...)
	}
	return dirs
}

// makeIDDir returns the first candidate that is a directory of the user alone.
func (a Account) makeIDDir() (string, error) {
	var errs []error
	for _, dir := range idDirs(a.UID) {
		// If the parents cannot be made, ownDir reports an error.
		_ = os.MkdirAll(filepath.Dir(dir), 0o700)
		err := ownDir(dir, a.UID)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// Pairs is how many runs can have ids at once; without a range, all share the caller's.
func (a Account) Pairs() int64 {
	if !a.HasRange() {
		return math.MaxInt64
	}
	return int64(min(a.UIDs.Count, a.GIDs.Count)-1) / 2
}

// AcquireSlot locks the first free pair of ids. The kernel drops the lock when the process ends.
func (a Account) AcquireSlot(self bool) (Slot, error) {
	if !a.HasRange() {
		return Slot{}, nil // one identity mapping: both ids are 0 in the outer namespace
	}
	dir, err := a.makeIDDir()
	if err != nil {
		return Slot{}, fmt.Errorf("lock ids: %w", err)
	}
	pairs := int(a.Pairs())
	for k := range pairs {
		lock, err := tryLock(fmt.Sprintf("%s/%d", dir, k))
		if errors.Is(err, unix.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			return Slot{}, fmt.Errorf("lock ids: %w", err)
		}
		slot := Slot{Container: 1 + 2*k, Analysis: 2 + 2*k, lock: lock}
		if self {
			slot.Analysis = 0
		}
		return slot, nil
	}
	return Slot{}, fmt.Errorf("all %d pairs of ids of this user are in use by other runs", pairs)
}

// ownDir makes a directory that only its owner can enter, or checks that it is one.
func ownDir(dir string, uid int) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != uid || st.Mode&0o077 != 0 {
		return fmt.Errorf("%s is not a directory of uid %d with mode 0700; remove it", dir, uid)
	}
	return nil
}

func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
