package cgroupfs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Int reads an integer.
func Int(dir, file string) (int64, error) {
	text, err := Read(dir, file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
	}
	return n, nil
}

// Key reads a value of a file of "key value" lines.
func Key(dir, file, key string) (int64, error) {
	values, err := Keys(dir, file, key)
	return values[0], err
}

// Keys reads several values of such a file at once.
func Keys(dir, file string, keys ...string) ([]int64, error) {
	values := make([]int64, len(keys))
	text, err := Read(dir, file)
	if err != nil {
		return values, err
	}
	found := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[name] = value
	}
	for i, key := range keys {
		value, there := found[key]
		if !there {
			return values, fmt.Errorf("%s: %w %q", filepath.Join(dir, file), ErrNoKey, key)
		}
		if values[i], err = strconv.ParseInt(value, 10, 64); err != nil {
			return values, fmt.Errorf("%s: %s: %w", filepath.Join(dir, file), key, err)
		}
	}
	return values, nil
}

// ErrNoKey says that a file does not have a key.
var ErrNoKey = errors.New("no key")

// OptionalInt reads an integer, 0 if this kernel does not have the file.
func OptionalInt(dir, file string) (int64, error) {
	n, err := Int(dir, file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return n, err
}

// Counter is Key for what gives no evidence when it cannot be read: then it is 0.
func Counter(dir, file, key string) int64 {
	n, err := Key(dir, file, key)
	if err != nil {
		return 0
	}
	return n
}

// MaxOrInf reads a number or "max", no limit.
func MaxOrInf(dir, file string) (float64, error) {
	text, err := Read(dir, file)
	if err != nil {
		return 0, err
	}
	if text == "max" {
		return math.Inf(1), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
	}
	return float64(n), nil
}

// Exists treats an inaccessible file as missing.
func Exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// Pids returns the processes of a group, none for a missing one.
func Pids(dir string) ([]int, error) {
	text, err := Read(dir, "cgroup.procs")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, field := range strings.Fields(text) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("%s/cgroup.procs: %w", dir, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
