package unpack

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	digest "github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"
)

// applyLayer applies a layer to dir, which may hold lower ones.
func applyLayer(ctx context.Context, dir *os.File, layer io.Reader, bounds Bounds) (totals, error) {
	r := newRoot(dir, bounds)
	r.empty = false
	_, err := r.Layer(ctx, layer)
	return r.totals, err
}

// apply applies a tar stream to the site's root.
func (s *site) apply(stream []byte, bounds Bounds) (totals, error) {
	return applyLayer(context.Background(), s.root, bytes.NewReader(stream), bounds)
}

func TestModesOwnersTimes(t *testing.T) {
	s := newSite(t)
	defer unix.Umask(unix.Umask(0o077))
	modes := map[string]int64{
		"suid": 0o6755, "secret": 0o400, "group-executable": 0o650, "open": 0o666, "none": 0, "dir/": 0o1777, "closed/": 0,
	}
	want := map[string]uint32{
		"suid": 0o755, "secret": 0o644, "group-executable": 0o755, "open": 0o644, "none": 0o644, "dir/": 0o755, "closed/": 0o755,
		"made/": 0o755,
	}
	var list []tar.Header
	for name, mode := range modes {
		h := file(name, "x")
		if strings.HasSuffix(name, "/") {
			h = dir(name)
		}
		h.Mode, h.Uid, h.Gid, h.Uname = mode, 1234, 1234, "nobody"
		list = append(list, h)
	}
	list = append(list, file("closed/made", "x"), symlink("link", "suid"), file("made/x", "x"))
	_, err := s.apply(archive(t, list...), DefaultBounds())
	must(t, err)
	for name, mode := range want {
		st := s.lstat(filepath.Join(s.root.Name(), name))
		if st.Mode&0o7777 != mode || st.Uid != uint32(os.Geteuid()) {
			t.Errorf("%s has mode %o and owner %d", name, st.Mode&0o7777, st.Uid)
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(want)), "link", "closed/made") {
		st := s.lstat(filepath.Join(s.root.Name(), name))
		if is := time.Unix(st.Mtim.Unix()); !is.Equal(stamp) {
			t.Errorf("%s has the time %v", name, is)
		}
	}
}

// A directory that an upper layer adds to, or removes from, keeps the time that its own entry has.
func TestTimesOfLowerDirectories(t *testing.T) {
	s := newSite(t)
	root := newRoot(s.root, DefaultBounds())
	for _, l := range [][]tar.Header{
		{dir("./"), dir("a"), file("a/x", "1"), dir("b"), file("b/x", "1"), file("x", "1")},
		{file("a/y", "2"), file("b/.wh.x", ""), file("y", "2")},
	} {
		_, err := root.Layer(context.Background(), bytes.NewReader(archive(t, l...)))
		must(t, err)
	}
	for _, name := range []string{"", "a", "b"} {
		st := s.lstat(filepath.Join(s.root.Name(), name))
		if is := time.Unix(st.Mtim.Unix()); !is.Equal(stamp) {
			t.Errorf("%q has the time %v", name, is)
		}
	}
}

func TestExtendedAttributesAreDropped(t *testing.T) {
	s := newSite(t)
	h := file("x", "x")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h.PAXRecords = map[string]string{
		"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"SCHILY.xattr.user.x":              "y",
	}
	must(t, w.WriteHeader(&h))
	_, err := w.Write([]byte("x"))
	must(t, err)
	must(t, w.Close())
	_, err = s.apply(b.Bytes(), DefaultBounds())
	must(t, err)
	buf := make([]byte, 1024)
	if n, err := unix.Llistxattr(s.root.Name()+"/x", buf); err != nil || n > 0 {
		t.Errorf("attributes %q, %v", buf[:max(n, 0)], err)
	}
}

func TestBrokenArchives(t *testing.T) {
	whole := archive(t, file("a", "content"), file("b", "more"))
	end := make([]byte, 1024)
	for name, c := range map[string]struct {
		stream []byte
		err    string
	}{
		"empty":                 {nil, ""},
		"only its end":          {end, ""},
		"without its end":       {rawHeader('0', "a", "00000000000\x00"), ""},
		"with more behind it":   {slices.Concat(whole, []byte("trailing"), whole), ""},
		"cut off in a header":   {whole[:100], "unexpected EOF"},
		"cut off in a file":     {whole[:slices.Index(whole, 'c')+2000], "unexpected EOF"},
		"no archive":            {bytes.Repeat([]byte("no archive "), 100), "invalid tar header"},
		"a negative size":       {slices.Concat(rawHeader('0', "a", "-0000000001\x00"), end), "invalid tar header"},
		"a negative binary one": {slices.Concat(rawHeader('0', "a", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), end), "invalid tar header"},
		"a huge size":           {slices.Concat(rawHeader('0', "a", "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff"), end), "64GiB in one file"},
		"a huge long name":      {slices.Concat(rawHeader('L', "././@LongLink", "00010000000\x00"), make([]byte, 2<<20)), "header field too long"},
		"an unknown type":       {slices.Concat(rawHeader('Q', "a", "00000000000\x00"), end), `unknown type 'Q'`},
		"a link to nothing":     {slices.Concat(rawHeader('2', "a", "00000000000\x00"), end), "a symbolic link to nothing"},
		"an endless sparse map": {slices.Concat(rawHeader('S', "a", "00000000000\x00"), end), "invalid tar header"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			root := newRoot(s.root, DefaultBounds())
			is, err := root.Layer(context.Background(), bytes.NewReader(c.stream))
			s.untouched()
			switch {
			case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, not %q", err, c.err)
			case err == nil && is != digest.FromBytes(c.stream):
				t.Errorf("the digest is not that of the whole stream")
			}
		})
	}
}

func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Bounds)
		entries []tar.Header
	}{
		"more than 2 entries":                     {func(b *Bounds) { b.Entries = 2 }, []tar.Header{dir("a"), dir("a"), dir("b")}},
		"more than 100B in one file":              {func(b *Bounds) { b.FileBytes = 100 }, []tar.Header{file("a", strings.Repeat("x", 101))}},
		"more than 8KiB of files":                 {func(b *Bounds) { b.Bytes = 8 << 10 }, []tar.Header{file("a", strings.Repeat("x", 8200))}},
		"more than 4KiB without compression":      {func(b *Bounds) { b.Bytes = 4 << 10 }, []tar.Header{dir("a"), dir("b"), dir("c"), dir("d"), dir("e")}},
		"more than 12B of names":                  {func(b *Bounds) { b.Names = 12 }, []tar.Header{dir("aaaa"), dir("aaaa/bbbb")}},
		"more than 10 bytes in a path":            {func(b *Bounds) { b.Path = 10 }, []tar.Header{dir("aaaaa/bbbbb")}},
		"more than 3 directories in a path":       {func(b *Bounds) { b.Depth = 3 }, []tar.Header{dir("a/b/c/d")}},
		"to \"a/b/c/d\": the image is beyond the": {func(b *Bounds) { b.Depth = 3 }, []tar.Header{link("a", "a/b/c/d")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			bounds := DefaultBounds()
			stream := archive(t, c.entries...)
			c.change(&bounds)
			if _, err := s.apply(stream, bounds); !errors.Is(err, ErrBound) || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The path of a short name through links is bounded like a name: otherwise each layer could go deeper.
func TestDepthThroughLinks(t *testing.T) {
	s := newSite(t)
	bounds := DefaultBounds()
	bounds.Depth = 4
	_, err := s.apply(archive(t, dir("a/b/c"), symlink("l", "a/b/c"), dir("l/d"), dir("l/d/e")), bounds)
	if !errors.Is(err, ErrBound) {
		t.Errorf("error %v; tree %q", err, tree(t, s.root.Name()))
	}
}

// Links may lead to links, each with a target of two thousand parts.
func TestLinksOfManyPartsEnd(t *testing.T) {
	s := newSite(t)
	target := strings.Repeat("./../", 800) + "a"
	_, err := s.apply(archive(t, symlink("a", target), symlink("b", target), file("b/x", "")), DefaultBounds())
	if !errors.Is(err, unix.ELOOP) {
		t.Errorf("error %v", err)
	}
}

// An archive of little more than zeros can say that it unfolds to anything.
func TestSparseFiles(t *testing.T) {
	from := t.TempDir()
	f, err := os.Create(from + "/sparse")
	must(t, err)
	_, err = f.WriteAt([]byte("in the middle"), 1<<20)
	must(t, err)
	must(t, f.Truncate(8<<20))
	must(t, f.Close())
	for _, format := range []string{"gnu", "posix"} {
		stream, err := exec.Command("tar", "-C", from, "--sparse", "--format="+format, "-c", "sparse").Output()
		must(t, err)
		if len(stream) > 1<<20 {
			t.Fatalf("tar made an archive of %d bytes: it is not sparse", len(stream))
		}
		s := newSite(t)
		counted, err := s.apply(stream, DefaultBounds())
		must(t, err)
		is, err := os.ReadFile(s.root.Name() + "/sparse")
		must(t, err)
		want, err := os.ReadFile(from + "/sparse")
		must(t, err)
		if !bytes.Equal(is, want) || counted.bytes != 8<<20 {
			t.Errorf("%s: another content, or %+v", format, counted)
		}
		bounds := DefaultBounds()
		bounds.Bytes = 4 << 20
		if _, err := newSite(t).apply(stream, bounds); !errors.Is(err, ErrBound) {
			t.Errorf("%s: a sparse file beyond the bounds: %v", format, err)
		}
	}
}

func TestSumsOfExistingFiles(t *testing.T) {
	s := newSite(t)
	root := newRoot(s.root, DefaultBounds())
	big := strings.Repeat("0123456789abcdef", 100_000)
	for _, l := range [][]tar.Header{
		{file("a", "1"), file("b", "2"), file("empty", ""), file("big", big)},
		{file("a", "3"), link("c", "b"), file(".wh.b", "")},
	} {
		_, err := root.Layer(context.Background(), bytes.NewReader(archive(t, l...)))
		must(t, err)
	}
	for name, content := range map[string]string{"a": "3", "c": "2", "empty": "", "big": big} {
		sum, known := root.Sums().Of(s.lstat(s.root.Name() + "/" + name).Ino)
		if !known || sum != sha256.Sum256([]byte(content)) {
			t.Errorf("%s: %v, %x", name, known, sum)
		}
	}
	if _, known := root.Sums().Of(s.lstat(s.canary).Ino); known {
		t.Error("an inode number is known that no file has")
	}
	if want := (totals{entries: 7, bytes: int64(4 - 1 + len(big)), read: root.totals.read}); root.totals != want {
		t.Errorf("totals %+v, not %+v", root.totals, want)
	}
}

func TestErrorsOfTheStream(t *testing.T) {
	whole := archive(t, file("a", strings.Repeat("x", 1<<20)), file("b", "y"))
	// The second is the error of a truncated compressed stream, also after the archive's end.
	for _, broken := range []error{errors.New("the disk is broken"), io.ErrUnexpectedEOF} {
		for _, at := range []int{0, 100, 1 << 19, 1 << 20, len(whole)} {
			s := newSite(t)
			r := io.MultiReader(bytes.NewReader(whole[:at]), iotest.ErrReader(broken))
			if _, err := applyLayer(context.Background(), s.root, r, DefaultBounds()); !errors.Is(err, broken) {
				t.Errorf("after %d bytes: error %v", at, err)
			}
		}
	}
}

// The directory of the last entry is kept open, but not beyond its removal.
func TestDirectoryThatWasRemoved(t *testing.T) {
	s := newSite(t)
	_, err := s.apply(archive(t, file("d/x", "1"), special(tar.TypeFifo, "d"), file("d/y", "2")), DefaultBounds())
	must(t, err)
	if is := tree(t, s.root.Name()); !slices.Equal(is, []string{"d d", "f d/y 2"}) {
		t.Errorf("tree %q", is)
	}
}

func TestContextEnds(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(context.Background())
	r := io.MultiReader(bytes.NewReader(archive(t, file("a", "x"))), &canceling{cancel})
	if _, err := applyLayer(ctx, s.root, r, DefaultBounds()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// canceling is an endless stream that cancels the context once it is read.
type canceling struct{ cancel func() }

func (c *canceling) Read(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

func zipped(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	must(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	w, err := zstd.NewWriter(nil)
	must(t, err)
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func open(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

func TestImage(t *testing.T) {
	layers := [][]byte{archive(t, file("a", "1")), archive(t, file("b", "2")), archive(t, file(".wh.a", ""), file("c", "3"))}
	sources := []Source{
		{open(layers[0]), digest.FromBytes(layers[0])},
		{open(zipped(t, layers[1])), digest.FromBytes(layers[1])},
		{open(zstandard(t, layers[2])), digest.FromBytes(layers[2])},
	}
	s := newSite(t)
	_, err := Image(context.Background(), s.root, sources, DefaultBounds())
	must(t, err)
	if is := tree(t, s.root.Name()); !slices.Equal(is, []string{"f b 2", "f c 3"}) {
		t.Errorf("tree %q", is)
	}
	bounds := DefaultBounds()
	bounds.Entries = 3
	if _, err := Image(context.Background(), newSite(t).root, sources, bounds); !errors.Is(err, ErrBound) {
		t.Errorf("the bounds are not for all layers together: %v", err)
	}
	sources[2].DiffID = sources[1].DiffID
	_, err = Image(context.Background(), newSite(t).root, sources, DefaultBounds())
	if err == nil || !strings.Contains(err.Error(), "layer 3 of 3: its contents have the digest") {
		t.Errorf("another diff id: %v", err)
	}
	sources[2].DiffID = "sha256:../../x"
	if _, err = Image(context.Background(), newSite(t).root, sources, DefaultBounds()); err == nil {
		t.Error("a diff id that is none is taken")
	}
}

// A reader that verifies the compressed layer reports damage instead of io.EOF, so it must be read to that.
func TestImageReadsBlobsToTheirEnd(t *testing.T) {
	data := archive(t, file("a", "1"))
	wrong := errors.New("wrong digest")
	for name, blob := range map[string][]byte{"tar": data, "gzip": zipped(t, data), "zstd": zstandard(t, data)} {
		source := Source{func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(blob), iotest.ErrReader(wrong))), nil
		}, digest.FromBytes(data)}
		if _, err := Image(context.Background(), newSite(t).root, []Source{source}, DefaultBounds()); !errors.Is(err, wrong) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestDecompress(t *testing.T) {
	data := archive(t, file("a", strings.Repeat("x", 10_000)))
	gz, zst := zipped(t, data), zstandard(t, data)
	flipped := slices.Clone(gz)
	flipped[len(gz)-6] ^= 1
	for name, c := range map[string]struct {
		blob []byte
		err  string
	}{
		"plain": {data, ""}, "gzip": {gz, ""}, "zstd": {zst, ""},
		"gzip cut off":   {gz[:len(gz)-9], "unexpected EOF"},
		"zstd cut off":   {zst[:len(zst)-5], "unexpected EOF"},
		"gzip, and more": {append(slices.Clone(gz), "more than that"...), "gzip: invalid header"},
		"a wrong sum":    {flipped, "gzip: invalid checksum"},
		"xz":             {[]byte("\xfd7zXZ\x00 and so on"), "this is xz or bzip2"},
		"a zstd window of 2 GiB": {
			[]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00}, "window size exceeded",
		},
	} {
		r, err := Decompress(bytes.NewReader(c.blob), DefaultBounds())
		var is []byte
		if err == nil {
			is, err = io.ReadAll(r)
			r.Close()
		}
		switch {
		case c.err == "" && (err != nil || !bytes.Equal(is, data)):
			t.Errorf("%s: %v, or other data", name, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, not %q", name, err, c.err)
		}
	}
}

// A few KiB unfold to any number of zeros.
func TestBombEnds(t *testing.T) {
	for name, ratio := range map[string]int64{"a bomb": 100, "what is allowed": 1 << 40} {
		blob := bomb(t)
		bounds := DefaultBounds()
		bounds.Ratio = ratio
		r, err := Decompress(bytes.NewReader(blob), bounds)
		must(t, err)
		n, err := io.Copy(io.Discard, r)
		r.Close()
		if (ratio == 100) != errors.Is(err, ErrBound) {
			t.Errorf("%s: %d bytes of %d, %v", name, n, len(blob), err)
		}
	}
}

// bomb is a zstd stream of zeros that is a little longer than ratioFree.
func bomb(t *testing.T) []byte {
	frame := zstandard(t, make([]byte, 64<<20))
	return bytes.Repeat(frame, ratioFree/(64<<20)+1)
}
