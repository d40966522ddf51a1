// Package procfs reads what proc(5) has in lines without names: the state of a process or thread, and the processors. Each function
// takes a directory, as tests have one of their own, and a supervisor that of a container.
package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Stat is proc_pid_stat(5) of a process or thread, from the state on.
type Stat []string

// ReadStat reads the stat of the process or thread that has the directory. On an error it has ended.
func ReadStat(dir string) (Stat, error) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	// The process chooses the name before, which may hold any byte; no later field holds a parenthesis.
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])), err
}

// State is that of proc_pid_stat(5), one letter.
func (s Stat) State() (string, error) { return s.field(3) }

// Number is a field, by its number in proc_pid_stat(5): 4 and later ones.
func (s Stat) Number(field int) (int64, error) {
	text, err := s.field(field)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func (s Stat) field(number int) (string, error) {
	if number-3 >= len(s) {
		return "", fmt.Errorf("stat of a process: it has no field %d: %q", number, []string(s))
	}
	return s[number-3], nil
}

// OnlineCPUs counts the processors of proc_stat(5) that are online; 0 is unknown.
func OnlineCPUs(proc string) (n int64) {
	text, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cpu") && !strings.HasPrefix(line, "cpu ") {
			n++
		}
	}
	return n
}
