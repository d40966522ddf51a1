package seal

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// entry is one file, directory or link of a root.
type entry struct {
	path   string // from the root, "" for the root itself
	st     unix.Stat_t
	target string   // of a link
	sum    [32]byte // of a file
}

// line appends the entry's line of the list: for a file "f MODE SIZE SHA256 PATH", for a directory "d MODE PATH", for a
// link "l PATH TARGET". MODE is the octal permission bits, the root's path is ".", and bytes of names other than
// printable ASCII, blanks and backslashes are written as \ooo, in octal. Lines are sorted by the bytes of whole paths.
// The rootfs digest is the SHA-256 of this form: it must never change.
func (e *entry) line(b []byte) []byte {
	mode := e.st.Mode & 0o7777
	switch e.st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		b = fmt.Appendf(b, "f %04o %d %x ", mode, e.st.Size, e.sum)
		b = appendName(b, e.path)
	case unix.S_IFDIR:
		b = fmt.Appendf(b, "d %04o ", mode)
		b = appendName(b, name(e.path))
	case unix.S_IFLNK:
		b = append(b, "l "...)
		b = append(appendName(b, e.path), ' ')
		b = appendName(b, e.target)
	}
	return append(b, '\n')
}

func name(path string) string {
	if path == "" {
		return "."
	}
	return path
}

func appendName(b []byte, name string) []byte {
	for i := range len(name) {
		c := name[i]
		if c > ' ' && c < 0x7f && c != '\\' {
			b = append(b, c)
			continue
		}
		b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
	}
	return b
}

// pathOf returns the path in a line of the list, "" for the root and for an invalid line.
func pathOf(line []byte) string {
	blanks := map[byte]int{'f': 4, 'd': 2, 'l': 1}
	if len(line) == 0 {
		return ""
	}
	rest := string(line)
	for range blanks[line[0]] {
		rest = after(rest)
	}
	path := make([]byte, 0, len(rest))
	for i := 0; i < len(rest) && rest[i] != ' ' && rest[i] != '\n'; i++ {
		if rest[i] == '\\' && i+3 < len(rest) {
			c, _ := strconv.ParseUint(rest[i+1:i+4], 8, 8)
			path = append(path, byte(c))
			i += 3
			continue
		}
		path = append(path, rest[i])
	}
	if string(path) == "." {
		return ""
	}
	return string(path)
}

func after(s string) string {
	for i := range len(s) {
		if s[i] == ' ' {
			return s[i+1:]
		}
	}
	return ""
}
