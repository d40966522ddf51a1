package idmap

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// readSubID returns the first range in subuid(5) for one of the names. A missing file or an invalid line gives none: the
// tools that apply the map check again.
func readSubID(path string, names []string) Range {
	f, err := os.Open(path)
	if err != nil {
		return Range{}
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
			return Range{Start: start, Count: count}
		}
	}
	return Range{}
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
