package cgroup

import (
	"errors"
	"os"
	"path/filepath"
)

// UsageOf reads the use of a group that another process made, by its directories (Group.Dirs).
func UsageOf(dirs []string) (Usage, error) {
	if dir := having(dirs, "memory.current"); dir != "" {
		return v2{dir: dir}.usage()
	}
	g := v1{memory: having(dirs, "memory.usage_in_bytes"), pids: having(dirs, "pids.current"), cpuacct: having(dirs, "cpuacct.usage")}
	if g.memory == "" || g.pids == "" {
		return Usage{}, errors.New("no control group counts memory and processes")
	}
	return g.usage()
}

// having returns the directory that has a file, or "".
func having(dirs []string, file string) string {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return dir
		}
	}
	return ""
}
