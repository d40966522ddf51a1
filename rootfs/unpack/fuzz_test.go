package unpack

import (
	"archive/tar"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// FuzzLayers makes layers out of bytes, each three an entry: its kind, its name, its target. Names and targets are made
// of parts that lead out of the root and of few others, so that entries collide.
func FuzzLayers(f *testing.F) {
	for _, seed := range []string{
		"\x02\x01\x0f\x00\x21\x00", "\x02\x01\x10\x03\x02\x31\x00\x02\x00", "\x01\x01\x00\x00\x12\x00\x07\x00\x00\x04\x01\x00",
		"\x02\x01\x0e\x05\x01\x00\x07\x00\x00\x05\x11\x00", "\x00\x01\x00\x03\x02\x01\x00\x02\x00\x06\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		s := newSite(t)
		root := newRoot(s.root, fuzzBounds())
		var err error
		for _, l := range s.layers(ops[:min(len(ops), 192)]) {
			if err == nil {
				_, err = root.Layer(context.Background(), bytes.NewReader(archive(t, l...)))
			}
		}
		s.untouched()
		s.harmless(err == nil)
	})
}

// FuzzStream applies any bytes.
func FuzzStream(f *testing.F) {
	for _, c := range cases {
		if !strings.Contains(c.name, "long") {
			f.Add(archive(f, c.at("/canary").layers[0]...))
		}
	}
	f.Add(rawHeader('S', "sparse", "00000001000\x00"))
	f.Add(rawHeader('x', "pax", "00000000100\x00"))
	f.Add(zipped(f, archive(f, file("a", "x"))))
	f.Add(zstandard(f, archive(f, file("a", "x"))))
	f.Fuzz(func(t *testing.T, stream []byte) {
		s := newSite(t)
		r, err := Decompress(bytes.NewReader(stream), fuzzBounds())
		if err == nil {
			_, err = applyLayer(context.Background(), s.root, r, fuzzBounds())
			r.Close()
		}
		s.untouched()
		s.harmless(err == nil)
	})
}

func fuzzBounds() Bounds {
	return Bounds{Bytes: 1 << 20, FileBytes: 1 << 19, Entries: 1000, Names: 1 << 16, Path: 1000, Depth: 16, Ratio: 100}
}

func (s *site) layers(ops []byte) [][]tar.Header {
	parts := []string{
		"", "a", "b", "a/b", "b/a", ".wh.a", ".wh.b", ".wh..wh..opq", ".wh...", "..", "/", "../canary", "a/..",
		"a/../../canary/secret", s.canary, s.canary + "/secret",
	}
	layers := [][]tar.Header{nil}
	for ; len(ops) >= 3; ops = ops[3:] {
		name := parts[ops[1]&15] + "/" + parts[ops[1]>>4]
		target := parts[ops[2]&15] + "/" + parts[ops[2]>>4]
		last := &layers[len(layers)-1]
		switch ops[0] % 8 {
		case 0:
			*last = append(*last, file(strings.TrimRight(name, "/"), "x"))
		case 1:
			*last = append(*last, dir(name))
		case 2, 3:
			*last = append(*last, symlink(name, strings.TrimRight(target, "/")))
		case 4, 5:
			*last = append(*last, link(name, strings.TrimRight(target, "/")))
		case 6:
			*last = append(*last, special(tar.TypeFifo, strings.TrimRight(name, "/")))
		case 7:
			layers = append(layers, nil)
		}
	}
	return layers
}

// harmless fails the test if the root holds anything that no root may hold.
func (s *site) harmless(whole bool) {
	must(s.t, filepath.WalkDir(s.root.Name(), func(path string, e fs.DirEntry, err error) error {
		must(s.t, err)
		st := s.lstat(path)
		mode := st.Mode & 0o7777
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			if mode != dirMode {
				s.t.Errorf("the directory %q has mode %o", path, mode)
			}
		case unix.S_IFREG:
			content, err := os.ReadFile(path)
			must(s.t, err)
			if bytes.Contains(content, []byte(secret)) {
				s.t.Errorf("%q has what was outside", path)
			}
			if whole && mode != fileMode && mode != executableMode {
				s.t.Errorf("the file %q has mode %o", path, mode)
			}
		case unix.S_IFLNK:
		default:
			s.t.Errorf("%q is of kind %o", path, st.Mode)
		}
		if st.Uid != uint32(os.Geteuid()) {
			s.t.Errorf("%q belongs to %d", path, st.Uid)
		}
		if whole && e.Name() != "root" && time.Since(time.Unix(st.Mtim.Unix())) < time.Hour {
			s.t.Errorf("%q has the time of now", path)
		}
		return nil
	}))
}
