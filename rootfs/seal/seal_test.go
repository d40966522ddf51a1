package seal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/test/durable"
)

// sealed is a small root with its record.
type sealed struct {
	t      *testing.T
	dir    string
	root   *os.File
	record *Record
}

func newSealed(t *testing.T) *sealed {
	dir := filepath.Join(t.TempDir(), "root")
	plant(t, dir)
	return seal(t, dir)
}

func plant(t *testing.T, dir string) {
	for _, d := range []string{"", "a", "a/b", "a-b", "empty"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for name, content := range map[string]string{"a/x": "1", "a/b/y": "22", "a-b/z": "333", "a0": "", "ü \\\n": "5", "run": "run"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	must(t, os.Chmod(dir+"/run", 0o755))
	must(t, os.Link(dir+"/a/x", dir+"/same"))
	must(t, os.Symlink("a/x y", dir+"/link"))
}

func seal(t *testing.T, dir string) *sealed {
	root, err := os.Open(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	_, err = Seal(context.Background(), root, dir+".seal", nil)
	must(t, err)
	record, err := Open(dir + ".seal")
	must(t, err)
	return &sealed{t, dir, root, record}
}

func (s *sealed) path(name string) string { return filepath.Join(s.dir, name) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The list is the contract behind the digest: this one must hold for all time.
func TestListAndDigest(t *testing.T) {
	s := newSealed(t)
	list := fmt.Sprintf(`d 0755 .
d 0755 a
d 0755 a-b
f 0644 3 %x a-b/z
d 0755 a/b
f 0644 2 %x a/b/y
f 0644 1 %x a/x
f 0644 0 %x a0
d 0755 empty
l link a/x\040y
f 0755 3 %x run
f 0644 1 %x same
f 0644 1 %x \303\274\040\134\012
`, sum("333"), sum("22"), sum("1"), sum(""), sum("run"), sum("1"), sum("5"))
	file, err := os.ReadFile(s.dir + ".seal")
	must(t, err)
	if !bytes.Contains(file, []byte(list)) {
		t.Errorf("the record\n%q\nhas no list\n%q", file, list)
	}
	const digest = "sha256:cdd5e35a49b1d0d9c2f8df80c21352819577a5d7e83d8e7de01654ed3f0054dd"
	if is := s.record.Digest().String(); is != digest || is != fmt.Sprintf("sha256:%x", sum(list)) {
		t.Errorf("the digest is %s, that of the list %x", is, sum(list))
	}
	if s.record.Entries() != 13 || s.record.Bytes() != 11 {
		t.Errorf("%d entries, %d bytes", s.record.Entries(), s.record.Bytes())
	}
	info, err := os.Stat(s.dir + ".seal")
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("the record has mode %v", info.Mode())
	}
	var paths []string
	for line := range strings.Lines(list) {
		paths = append(paths, pathOf([]byte(line)))
	}
	if !slices.IsSorted(paths) || paths[12] != "ü \\\n" || paths[9] != "link" {
		t.Errorf("paths %q", paths)
	}
}

func sum(s string) [32]byte { return sha256.Sum256([]byte(s)) }

// The digest is the same wherever and whenever the same was unpacked.
func TestDigestIsOfWhatAnAnalysisSees(t *testing.T) {
	a := newSealed(t)
	dir := filepath.Join(t.TempDir(), "elsewhere")
	plant(t, dir)
	must(t, os.Remove(dir+"/same")) // a second file instead of a second name
	must(t, os.WriteFile(dir+"/same", []byte("1"), 0o644))
	must(t, os.Chtimes(dir+"/a/x", time.Unix(1, 0), time.Unix(1, 0)))
	if b := seal(t, dir); a.record.Digest() != b.record.Digest() {
		t.Errorf("digests %s and %s", a.record.Digest(), b.record.Digest())
	}
}

type sums map[uint64][32]byte

func (s sums) Of(ino uint64) ([32]byte, bool) {
	sum, known := s[ino]
	return sum, known
}

func TestKnownSumsAreNotReadAgain(t *testing.T) {
	s := newSealed(t)
	var st unix.Stat_t
	must(t, unix.Lstat(s.path("a/x"), &st))
	r, err := Seal(context.Background(), s.root, s.dir+".other", sums{st.Ino: sum("1")})
	must(t, err)
	if r.Digest() != s.record.Digest() {
		t.Error("another digest")
	}
	r, err = Seal(context.Background(), s.root, s.dir+".other", sums{st.Ino: sum("2")})
	must(t, err)
	if r.Digest() == s.record.Digest() {
		t.Error("the file was read although its digest is known")
	}
}

func TestUntouched(t *testing.T) {
	s := newSealed(t)
	_, err := os.ReadFile(s.path("a/x")) // access times are nobody's business
	must(t, err)
	must(t, s.record.Check(context.Background(), s.root))
	must(t, s.record.renew(context.Background(), s.root))
	must(t, s.record.Confirm(context.Background(), s.root))
	if left := namesIn(t, filepath.Dir(s.dir)); !slices.Equal(left, []string{"root", "root.seal"}) {
		t.Errorf("files %q", left)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// tampering are changes of a root. Check notices each, and the error of Verify has the text says.
var tampering = []struct {
	name string
	do   func(s *sealed)
	says string
}{
	{"changed content", func(s *sealed) { must(s.t, os.WriteFile(s.path("a/b/y"), []byte("23"), 0o644)) }, `"a/b/y" is not what it was`},
	{"changed content, times set back", func(s *sealed) {
		info, err := os.Stat(s.path("a/b/y"))
		must(s.t, err)
		must(s.t, os.WriteFile(s.path("a/b/y"), []byte("23"), 0o644))
		must(s.t, os.Chtimes(s.path("a/b/y"), info.ModTime(), info.ModTime()))
	}, `"a/b/y" is not what it was`},
	{"appended", func(s *sealed) {
		f, err := os.OpenFile(s.path("a0"), os.O_APPEND|os.O_WRONLY, 0)
		must(s.t, err)
		_, err = f.WriteString("x")
		must(s.t, err)
		must(s.t, f.Close())
	}, `"a0" is not what it was`},
	{"changed by another name", func(s *sealed) { must(s.t, os.WriteFile(s.path("same"), []byte("2"), 0o644)) }, `"a/x" is not what it was`},
	{"mode", func(s *sealed) { must(s.t, os.Chmod(s.path("a-b/z"), 0o755)) }, `"a-b/z" is not what it was`},
	{"set-id", func(s *sealed) { must(s.t, os.Chmod(s.path("run"), 0o755|os.ModeSetuid)) }, `"run" is not what it was`},
	{"mode of a directory", func(s *sealed) { must(s.t, os.Chmod(s.path("empty"), 0o777)) }, `"empty" is not what it was`},
	{"mode of the root", func(s *sealed) { must(s.t, os.Chmod(s.dir, 0o700)) }, `"." is not what it was`},
	{"unreadable", func(s *sealed) { must(s.t, os.Chmod(s.path("a-b/z"), 0)) }, ``},
	{"added file", func(s *sealed) { must(s.t, os.WriteFile(s.path("a/bb"), nil, 0o644)) }, `"a/bb" was added`},
	{"added at the end", func(s *sealed) { must(s.t, os.WriteFile(s.path("\xff"), nil, 0o644)) }, `"\xff" was added`},
	{"added directory", func(s *sealed) { must(s.t, os.Mkdir(s.path("empty/d"), 0o755)) }, `"empty/d" was added`},
	{"added link", func(s *sealed) { must(s.t, os.Symlink("/", s.path("a/b/l"))) }, `"a/b/l" was added`},
	{"added, times of the directory set back", func(s *sealed) {
		info, err := os.Stat(s.path("a/b"))
		must(s.t, err)
		must(s.t, os.WriteFile(s.path("a/b/new"), nil, 0o644))
		must(s.t, os.Chtimes(s.path("a/b"), info.ModTime(), info.ModTime()))
	}, `"a/b/new" was added`},
	{"added FIFO", func(s *sealed) { must(s.t, unix.Mkfifo(s.path("empty/p"), 0o644)) }, `"empty/p": it cannot be in a root`},
	{"removed file", func(s *sealed) { must(s.t, os.Remove(s.path("a/x"))) }, `"a/x" was removed`},
	{"removed last file", func(s *sealed) { must(s.t, os.Remove(s.path("ü \\\n"))) }, `"ü \\\n" was removed`},
	{"removed directory", func(s *sealed) { must(s.t, os.Remove(s.path("empty"))) }, `"empty" was removed`},
	{"removed tree", func(s *sealed) { must(s.t, os.RemoveAll(s.path("a"))) }, `"a" was removed`},
	{"replaced by another kind", func(s *sealed) {
		must(s.t, os.Remove(s.path("empty")))
		must(s.t, os.Symlink("a", s.path("empty")))
	}, `"empty" is not what it was`},
	{"a directory in place of a file", func(s *sealed) {
		must(s.t, os.Remove(s.path("a0")))
		must(s.t, os.Mkdir(s.path("a0"), 0o755))
	}, `"a0" is not what it was`},
	{"replaced by rename, size and times the same", func(s *sealed) {
		info, err := os.Stat(s.path("a-b/z"))
		must(s.t, err)
		must(s.t, os.WriteFile(s.dir+".new", []byte("334"), 0o644))
		must(s.t, os.Chtimes(s.dir+".new", info.ModTime(), info.ModTime()))
		must(s.t, os.Rename(s.dir+".new", s.path("a-b/z")))
	}, `"a-b/z" is not what it was`},
	{"exchanged", func(s *sealed) {
		must(s.t, unix.Renameat2(unix.AT_FDCWD, s.path("a/x"), unix.AT_FDCWD, s.path("a/b/y"), unix.RENAME_EXCHANGE))
	}, `"a/b/y" is not what it was`},
	{"changed link", func(s *sealed) {
		must(s.t, os.Remove(s.path("link")))
		must(s.t, os.Symlink("a/x z", s.path("link")))
	}, `"link" is not what it was`},
	{"another owner", func(s *sealed) { must(s.t, os.Lchown(s.path("a/x"), 1234, -1)) }, `"a/x": it cannot be in a root filesystem: it belongs to the user 1234`},
	{"another owner of a link", func(s *sealed) { must(s.t, os.Lchown(s.path("link"), 1234, -1)) }, `"link": it cannot be in a root filesystem: it belongs`},
	{"another owner of the root", func(s *sealed) { must(s.t, os.Chown(s.dir, 1234, -1)) }, `it belongs to the user 1234`},
}

func TestTampering(t *testing.T) {
	for _, c := range tampering {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "owner") && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			s := newSealed(t)
			c.do(s)
			if err := s.record.Check(context.Background(), s.root); !errors.Is(err, ErrChanged) {
				t.Errorf("Check: %v", err)
			}
			for what, err := range map[string]error{
				"Renew":   s.record.renew(context.Background(), s.root),
				"Confirm": s.record.Confirm(context.Background(), s.root),
			} {
				if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
			// The record was not changed by the refused one.
			again, err := Open(s.dir + ".seal")
			must(t, err)
			if err := again.Check(context.Background(), s.root); !errors.Is(err, ErrChanged) {
				t.Errorf("Check after it: %v", err)
			}
		})
	}
}

// A copy has other inodes; its content is the same. After one look at all of it the check is fast again.
func TestCopiedRootIsRecordedAnew(t *testing.T) {
	s := newSealed(t)
	dir := filepath.Join(t.TempDir(), "root")
	plant(t, dir)
	copied, err := os.ReadFile(s.dir + ".seal")
	must(t, err)
	must(t, os.WriteFile(dir+".seal", copied, 0o600))
	root, err := os.Open(dir)
	must(t, err)
	defer root.Close()
	r, err := Open(dir + ".seal")
	must(t, err)
	if err := r.Check(context.Background(), root); !errors.Is(err, ErrChanged) {
		t.Fatalf("Check of a copy: %v", err)
	}
	must(t, r.Confirm(context.Background(), root))
	must(t, r.Check(context.Background(), root))
	r, err = Open(dir + ".seal")
	must(t, err)
	must(t, r.Check(context.Background(), root))
	if r.Digest() != s.record.Digest() {
		t.Errorf("digest %s, not %s", r.Digest(), s.record.Digest())
	}
}

// A changed time does not change the digest, but only reading everything shows that nothing else changed.
func TestTouched(t *testing.T) {
	s := newSealed(t)
	must(t, os.Chtimes(s.path("a/x"), time.Unix(1, 0), time.Unix(1, 0)))
	if err := s.record.Check(context.Background(), s.root); !errors.Is(err, ErrChanged) {
		t.Errorf("Check: %v", err)
	}
	must(t, s.record.Confirm(context.Background(), s.root))
	must(t, s.record.Check(context.Background(), s.root))
}

// Any changed, missing or additional byte of a record is noticed. A wrong checksum of only the stamps does no harm:
// they are made again.
func TestDamagedRecord(t *testing.T) {
	s := newSealed(t)
	whole, err := os.ReadFile(s.dir + ".seal")
	must(t, err)
	use := func(data []byte) (r *Record, check error) {
		must(t, os.WriteFile(s.dir+".seal", data, 0o600))
		r, err := Open(s.dir + ".seal")
		if err != nil {
			return nil, err
		}
		return r, r.Check(context.Background(), s.root)
	}
	list, stamps := int(headerBytes), int(headerBytes+s.record.header.ListBytes)
	for i := range whole {
		data := slices.Clone(whole)
		data[i] ^= 1
		r, check := use(data)
		if outside := i < list || i >= stamps; outside != errors.Is(check, ErrRecord) {
			t.Fatalf("byte %d (list at %d, stamps at %d): Check %v", i, list, stamps, check)
		}
		if r == nil || i > stamps { // of the stamps, one is enough: the record is made again
			continue
		}
		if renewed := r.renew(context.Background(), s.root); (i < stamps) != errors.Is(renewed, ErrRecord) {
			t.Fatalf("byte %d (list at %d, stamps at %d): Renew %v", i, list, stamps, renewed)
		}
	}
	for _, data := range [][]byte{nil, whole[:10], whole[:list], whole[:stamps], whole[:len(whole)-1], append(slices.Clone(whole), 0)} {
		if _, check := use(data); !errors.Is(check, ErrRecord) {
			t.Errorf("%d of %d bytes: %v", len(data), len(whole), check)
		}
	}
	data := slices.Clone(whole)
	data[len(data)-1] ^= 1
	must(t, os.WriteFile(s.dir+".seal", data, 0o600))
	must(t, s.record.Confirm(context.Background(), s.root))
	must(t, s.record.Check(context.Background(), s.root))
}

func TestSealRefusesSpecialFiles(t *testing.T) {
	for name, plant := range map[string]func(dir string) error{
		"a FIFO":   func(dir string) error { return unix.Mkfifo(dir+"/x", 0o644) },
		"a socket": func(dir string) error { return unix.Mknod(dir+"/x", unix.S_IFSOCK|0o644, 0) },
	} {
		dir := t.TempDir()
		must(t, os.Mkdir(dir+"/root", 0o755))
		must(t, plant(dir+"/root"))
		root, err := os.Open(dir + "/root")
		must(t, err)
		defer root.Close()
		_, err = Seal(context.Background(), root, dir+"/seal", nil)
		if err == nil || !strings.Contains(err.Error(), `"x": it cannot be in a root filesystem`) {
			t.Errorf("%s: %v", name, err)
		}
		if left := namesIn(t, dir); !slices.Equal(left, []string{"root"}) {
			t.Errorf("files %q", left)
		}
	}
}

// changing changes the root while it is sealed.
type changing struct{ do func() }

func (c *changing) Of(uint64) (sum [32]byte, known bool) {
	c.do()
	return sum, false
}

func TestChangedWhileItIsSealed(t *testing.T) {
	s := newSealed(t)
	once := false
	sums := &changing{func() {
		if !once {
			must(t, os.WriteFile(s.path("a/b/y"), []byte("23"), 0o644))
			once = true
		}
	}}
	if _, err := Seal(context.Background(), s.root, s.dir+".seal", sums); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v", err)
	}
}

// A change right after the seal has another change time, however coarse the clock is.
func TestChangedRightAfterTheSeal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	plant(t, dir)
	for i := range 50 {
		must(t, os.WriteFile(dir+"/a0", []byte{byte(i)}, 0o644))
		s := seal(t, dir)
		f, err := os.OpenFile(dir+"/a0", os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt([]byte{byte(i + 1)}, 0)
		must(t, err)
		must(t, f.Close())
		if err := s.record.Check(context.Background(), s.root); !errors.Is(err, ErrChanged) {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

func TestContextEnds(t *testing.T) {
	s := newSealed(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Seal(ctx, s.root, s.dir+".other", nil)
	for what, err := range map[string]error{
		"Seal": err, "Check": s.record.Check(ctx, s.root), "Renew": s.record.renew(ctx, s.root),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Many directories and chunks: each entry of a root of more than one chunk is looked at.
func TestCheckLooksAtEveryEntry(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	var files []string
	for i := range 3 * chunk {
		sub := fmt.Sprintf("%s/%d/%d", dir, i%7, i%31)
		must(t, os.MkdirAll(sub, 0o755))
		files = append(files, fmt.Sprintf("%s/%d", sub, i))
		must(t, os.WriteFile(files[i], nil, 0o644))
	}
	s := seal(t, dir)
	must(t, s.record.Check(context.Background(), s.root))
	for i := 0; i < len(files); i += 97 {
		must(t, os.Chmod(files[i], 0o600))
		if err := s.record.Check(context.Background(), s.root); !errors.Is(err, ErrChanged) {
			t.Fatalf("%s: %v", files[i], err)
		}
		must(t, os.Chmod(files[i], 0o644))
		s = seal(t, dir)
	}
}

func TestRecordIsDurable(t *testing.T) {
	s := newSealed(t)
	durable.Check(t, func() error {
		_, err := Seal(context.Background(), s.root, s.dir+".another", nil)
		return err
	})
}
