package idle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mapFile maps a page of a new file that has the byte 'f' everywhere, and reads it.
func mapFile(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Repeat("f", os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	page, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(page) })
	if page[0] != 'f' {
		t.Fatalf("the page begins with %q", page[0])
	}
	return page
}

func protect(t *testing.T, page []byte) {
	t.Helper()
	if err := unix.Mprotect(page, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
}

// resident returns the size of a file's pages that this process has mapped, as /proc/self/smaps says it.
func resident(t *testing.T, file string) string {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(smaps), " "+file+"\n")
	_, rss, ok := strings.Cut(after, "\nRss:")
	if !found || !ok {
		t.Fatalf("%s is not mapped", file)
	}
	rss, _, _ = strings.Cut(rss, "\n")
	return strings.TrimSpace(rss)
}

func TestUnmap(t *testing.T) {
	file := filepath.Join(t.TempDir(), "read")
	page := mapFile(t, file)
	protect(t, page)
	if got := resident(t, file); got == "0 kB" {
		t.Fatal("a page that was read is not mapped")
	}
	if err := unmap(file); err != nil {
		t.Fatal(err)
	}
	if got := resident(t, file); got != "0 kB" {
		t.Errorf("%s are mapped still", got)
	}
	if page[0] != 'f' {
		t.Errorf("mapped again, the page begins with %q", page[0])
	}
}

// TestUnmapChanged covers pages such as those of relocations, which the program's file does not have.
func TestUnmapChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "changed")
	page := mapFile(t, file)
	page[0] = 'c'
	protect(t, page)
	if err := unmap(file); err != nil {
		t.Fatal(err)
	}
	if page[0] != 'c' {
		t.Errorf("what was changed is lost: the page begins with %q", page[0])
	}
}

func TestUnmapWritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "writable")
	mapFile(t, file)
	before := resident(t, file)
	if err := unmap(file); err != nil {
		t.Fatal(err)
	}
	if got := resident(t, file); got != before {
		t.Errorf("%s are mapped, %s before", got, before)
	}
}

func TestUnmapProgram(t *testing.T) {
	if err := unmapProgram(); err != nil {
		t.Fatal(err)
	}
}

func TestCleanMappings(t *testing.T) {
	const smaps = `00400000-00401000 r--p 00000000 fd:00 12 /bin/tool
Rss:                   4 kB
Anonymous:             0 kB
00401000-00403000 r-xp 00001000 fd:00 12 /bin/tool
Anonymous:             0 kB
00403000-00404000 r--p 00003000 fd:00 12 /bin/tool
Anonymous:             4 kB
00404000-00405000 rw-p 00004000 fd:00 12 /bin/tool
Anonymous:             0 kB
00405000-00406000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fd:00 13 /other/bin/tool
Anonymous:             0 kB
`
	got, err := cleanMappings(strings.NewReader(smaps), "/bin/tool")
	if want := []mapping{{0x400000, 0x401000}, {0x401000, 0x403000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %x, %v; want %x", got, err, want)
	}
}
