// Package idmap reads the caller's subordinate ids, gives each run a pair of them, and writes the id maps of a supervisor's
// user namespace.
package idmap

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Range is a range of host ids, of both users and groups.
type Range struct{ Start, Count int }

// rootRange is root's range if /etc/subuid gives none: above every id that useradd assigns.
var rootRange = Range{Start: 2_000_000_000, Count: 65536}

// minRange is one id for the outer root (root only) and two for a run.
const minRange = 3

// Account is the caller and its subordinate ids.
type Account struct {
	UID, GID int
	Groups   []int // supplementary groups
	UIDs     Range // Count 0: none
	GIDs     Range
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
				a.UIDs, a.GIDs = Range{}, Range{}
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
		ids  *Range
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

func chooseRange(configured Range, idMap string) Range {
	if configured.Count >= minRange && mapped(idMap, configured) {
		return configured
	}
	if mapped(idMap, rootRange) {
		return rootRange
	}
	best := Range{}
	for line := range strings.Lines(idMap) {
		var inside, outside, count int
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 && count/2 >= minRange && count/2 > best.Count {
			best = Range{Start: inside + count - count/2, Count: count / 2}
		}
	}
	return best
}

// mapped reports whether one line of a uid_map (user_namespaces(7)) covers the whole range.
func mapped(idMap string, r Range) bool {
	for line := range strings.Lines(idMap) {
		var inside, outside, count int
		n, _ := fmt.Sscan(line, &inside, &outside, &count)
		if n == 3 && r.Start >= inside && r.Start+r.Count <= inside+count {
			return true
		}
	}
	return false
}
