package cas

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.TempDir()+"/root/blobs", "sha256")
	must(t, err)
	return s
}

func newIngest(t testing.TB, s *Store) *Ingest {
	t.Helper()
	i, err := s.NewIngest("run-1@1")
	must(t, err)
	return i
}

// put makes one blob.
func put(t testing.TB, s *Store, content string) string {
	t.Helper()
	i := newIngest(t, s)
	must(t, i.Publish(fill(t, i, content), digest(content)))
	must(t, i.Sync())
	must(t, i.Close())
	return digest(content)
}

// fill makes an ingest file.
func fill(t testing.TB, i *Ingest, content string) string {
	t.Helper()
	name, f, err := i.Create()
	must(t, err)
	_, err = f.WriteString(content)
	must(t, errors.Join(err, f.Close()))
	return name
}

func open(s *Store, sum string) (io.ReadCloser, error) {
	f, err := s.Open(sum)
	return NewReader(f, sum), err
}

func read(t testing.TB, s *Store, sum string) (string, error) {
	t.Helper()
	r, err := open(s, sum)
	if err != nil {
		return "", err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	return string(content), err
}

func TestLayout(t *testing.T) {
	s := newStore(t)
	sum := put(t, s, "content")
	path, err := s.Path(sum)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode() != 0o444 || path != filepath.Join(s.dir, "sha256", sum) {
		t.Errorf("%s %v", path, info.Mode())
	}
	for _, p := range []string{"", "sha256", "ingest"} {
		if info, err := os.Stat(filepath.Join(s.dir, p)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", p, info.Mode(), err)
		}
	}
	again, err := Open(s.dir, "sha256")
	must(t, err)
	if got, err := read(t, again, sum); err != nil || got != "content" {
		t.Errorf("%q %v", got, err)
	}
}

func TestOpenRefusesDirectoriesThatOthersCanChange(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(dir string) error
		want string
	}{
		{"world-writable", func(d string) error { return os.Chmod(d, 0o702) }, "chmod go-w"},
		{"group-writable", func(d string) error { return os.Chmod(d, 0o770) }, "chmod go-w"},
		{"sha256 writable", func(d string) error {
			return errors.Join(os.Mkdir(d+"/sha256", 0o700), os.Chmod(d+"/sha256", 0o777))
		}, "chmod go-w"},
		{"sha256 is a link", func(d string) error { return os.Symlink("/tmp", d+"/sha256") }, "symbolic link"},
		{"ingest is a file", func(d string) error { return os.WriteFile(d+"/ingest", nil, 0o600) }, "no directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, tc.make(dir))
			if _, err := Open(dir, "sha256"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v", err)
			}
		})
	}
	foreign := "/" // root's
	if os.Geteuid() == 0 {
		foreign = t.TempDir()
		must(t, os.Chown(foreign, 12345, 12345))
	}
	info, err := os.Stat(foreign)
	must(t, err)
	if err := private(foreign, info); err == nil || !strings.Contains(err.Error(), "does not belong") {
		t.Errorf("%v", err)
	}
}

func TestBadDigestsBecomeNoPath(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	defer i.Close()
	for _, bad := range []string{
		"", "..", "../catalog_id", strings.Repeat("a", 63), strings.Repeat("a", 65), strings.ToUpper(digest("x")),
		strings.Repeat("g", 64), "/" + strings.Repeat("a", 63), strings.Repeat("a", 63) + "\n", strings.Repeat("../", 21) + "a",
	} {
		_, pathErr := s.Path(bad)
		_, openErr := s.Open(bad)
		_, sizeErr := s.Size(bad)
		for what, err := range map[string]error{
			"Path": pathErr, "Open": openErr, "Size": sizeErr, "Remove": s.Remove(bad),
			"Publish": i.Publish(fill(t, i, "x"), bad),
		} {
			if err == nil || !strings.Contains(err.Error(), "no sha256 digest") {
				t.Errorf("%s(%q): %v", what, bad, err)
			}
		}
	}
}

func TestSizeRemove(t *testing.T) {
	s := newStore(t)
	sum := put(t, s, "12345")
	if size, err := s.Size(sum); size != 5 || err != nil {
		t.Errorf("%v %v", size, err)
	}
	must(t, s.Remove(sum))
	must(t, s.Remove(sum))
	if _, err := s.Open(sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := s.Size(sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestReadVerifies(t *testing.T) {
	content := strings.Repeat("science ", 20_000)
	for name, damage := range map[string]func([]byte) []byte{
		"flipped bit": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"shorter":     func(b []byte) []byte { return b[:len(b)-1] },
		"longer":      func(b []byte) []byte { return append(b, 0) },
		"empty":       func(b []byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			sum := put(t, s, content)
			path, err := s.Path(sum)
			must(t, err)
			must(t, os.Chmod(path, 0o600))
			must(t, os.WriteFile(path, damage([]byte(content)), 0o600))
			r, err := open(s, sum)
			must(t, err)
			defer r.Close()
			if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v", err)
			}
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("then %v", err)
			}
		})
	}
	s := newStore(t)
	sum := put(t, s, content)
	r, err := open(s, sum)
	must(t, err)
	if err := iotest.TestReader(r, []byte(content)); err != nil {
		t.Error(err)
	}
	must(t, r.Close())
	must(t, os.Symlink("/etc/passwd", filepath.Join(s.dir, "sha256", digest("link"))))
	if _, err := s.Open(digest("link")); !errors.Is(err, regular.ErrIrregular) || !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a"), []byte("a"))
	f.Add([]byte(""), []byte("b"))
	f.Fuzz(func(t *testing.T, promised, stored []byte) {
		r := NewReader(io.NopCloser(iotest.DataErrReader(bytes.NewReader(stored))), digest(string(promised)))
		_, err := io.ReadAll(r)
		if same := bytes.Equal(promised, stored); same != (err == nil) || !same && !errors.Is(err, ErrCorrupt) {
			t.Errorf("promised %q, stored %q: %v", promised, stored, err)
		}
	})
}

// TestBlobsAreDurable publishes a blob by itself and together with others.
func TestBlobsAreDurable(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	one := fill(t, i, "one")
	durable.Check(t, func() error { return errors.Join(i.Publish(one, digest("one")), i.Sync()) })
	few := fill(t, i, "few")
	durable.Check(t, func() error { return errors.Join(i.Gather(few, digest("few")), i.Sync()) })
	must(t, i.Close())
}
