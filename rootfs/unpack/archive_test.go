package unpack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stamp is the modification time of all entries in tests.
var stamp = time.Unix(1_600_000_000, 123_000_000)

func file(name, content string) tar.Header {
	return tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(content)),
		PAXRecords: map[string]string{"TEST.content": content},
	}
}

func dir(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o700} }

func symlink(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}
}

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644}
}

func special(kind byte, name string) tar.Header {
	return tar.Header{Typeflag: kind, Name: name, Mode: 0o666, Devmajor: 1, Devminor: 3}
}

// archive is the tar stream of entries, in a form that says all that is in their headers.
func archive(t testing.TB, entries ...tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		content := h.PAXRecords["TEST.content"]
		h.PAXRecords, h.ModTime, h.Format = nil, stamp, tar.FormatPAX
		must(t, w.WriteHeader(&h))
		_, err := w.Write([]byte(content))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// rawHeader is a tar header with any fields, also those that no archiver writes.
func rawHeader(kind byte, name, size string) []byte {
	b := make([]byte, 512)
	copy(b, name)
	copy(b[100:], "0000644\x00")
	copy(b[108:], "0000000\x000000000\x00")
	copy(b[124:], size)
	copy(b[136:], "00000000000\x00")
	b[156] = kind
	copy(b[257:], "ustar\x0000")
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// site is a root to unpack to, next to a directory that nothing may touch or read.
type site struct {
	t      testing.TB
	root   *os.File
	canary string
	before unix.Stat_t
}

const secret = "what nothing may read"

func newSite(t testing.TB) *site {
	top := t.TempDir()
	must(t, os.Mkdir(top+"/root", 0o755))
	must(t, os.Mkdir(top+"/canary", 0o755))
	must(t, os.WriteFile(top+"/canary/secret", []byte(secret), 0o644))
	root, err := os.Open(top + "/root")
	must(t, err)
	t.Cleanup(func() { root.Close() })
	s := &site{t: t, root: root, canary: top + "/canary"}
	s.before = s.lstat(s.canary + "/secret")
	return s
}

func (s *site) lstat(path string) (st unix.Stat_t) {
	must(s.t, unix.Lstat(path, &st))
	st.Atim = unix.Timespec{}
	return st
}

// untouched fails the test if anything but the root was changed.
func (s *site) untouched() {
	s.t.Helper()
	if now := s.lstat(s.canary + "/secret"); now != s.before {
		s.t.Errorf("the file outside was %+v and is %+v", s.before, now)
	}
	if is := names(s.t, s.canary); len(is) != 1 {
		s.t.Errorf("the directory outside has %q", is)
	}
	if is := names(s.t, filepath.Dir(s.canary)); strings.Join(is, " ") != "canary root" {
		s.t.Errorf("beside the root and the canary there is %q", is)
	}
}

func names(t testing.TB, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// tree describes a directory: "f PATH CONTENT", "d PATH", "l PATH -> TARGET", "p PATH", "s PATH = FIRST"
// for another name of a file.
func tree(t testing.TB, dir string) []string {
	lines := []string{}
	first := map[uint64]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		name, err := filepath.Rel(dir, path)
		must(t, err)
		if name == "." {
			return nil
		}
		var st unix.Stat_t
		must(t, unix.Lstat(path, &st))
		if same, known := first[st.Ino]; known {
			lines = append(lines, fmt.Sprintf("s %s = %s", name, same))
			return nil
		}
		if !e.IsDir() {
			first[st.Ino] = name
		}
		lines = append(lines, describe(t, path, name, e))
		return nil
	}))
	sort.Strings(lines)
	return lines
}

func describe(t testing.TB, path, name string, e fs.DirEntry) string {
	switch e.Type() {
	case 0:
		content, err := os.ReadFile(path)
		must(t, err)
		return strings.TrimSuffix(fmt.Sprintf("f %s %s", name, content), " ")
	case fs.ModeDir:
		return "d " + name
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		must(t, err)
		return fmt.Sprintf("l %s -> %s", name, target)
	default:
		return "special " + name
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
