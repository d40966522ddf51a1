package image

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// foreignArch is one that no test runs on.
const foreignArch = "s390x"

// TestImportRefuses imports what is no image, or one that is for another platform, damaged or hostile. The name still
// has its image, and nothing is left.
func TestImportRefuses(t *testing.T) {
	m := python(t)
	whole := oci(t, map[string]*made{"": m})
	change := func(name, data string) tree {
		files := tree{}
		for n, d := range whole {
			files[n] = d
		}
		if files[name] = data; data == "" {
			delete(files, name)
		}
		return files
	}
	layer := "blobs/sha256/" + digest.FromBytes(m.layers[0]).Encoded()
	flipped := []byte(whole[layer])
	flipped[600] ^= 1
	wrongID := python(t)
	wrongID.config.RootFS.DiffIDs[1] = digest.FromString("something else")
	fewer := python(t)
	fewer.config.RootFS.DiffIDs = fewer.config.RootFS.DiffIDs[:1]
	other := python(t)
	other.config.Architecture = foreignArch
	windows := python(t)
	windows.config.OS = "windows"
	hostile := imageOf(t, tree{"a": "x"}, tree{"../out": "x"})
	docker := m.docker(t)
	noLayer := tree{}
	for n, d := range docker {
		if !strings.HasSuffix(n, "/layer.tar") {
			noLayer[n] = d
		}
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	archive := tarOf(t, whole)
	for name, c := range map[string]struct {
		path  string
		words []string
	}{
		"missing":        {filepath.Join(t.TempDir(), "nothing"), []string{"does not exist"}},
		"fifo":           {fifo, []string{"neither a directory nor a regular file"}},
		"directory":      {t.TempDir(), []string{"oci-layout", "--rootfs"}},
		"empty file":     {file(t, nil), []string{"no tar"}},
		"text":           {file(t, []byte(strings.Repeat("text ", 500))), []string{"no tar"}},
		"empty tar":      {file(t, tarOf(t, nil)), []string{"no tar"}},
		"xz":             {file(t, append([]byte("\xfd7zXZ\x00"), make([]byte, 600)...)), []string{"xz"}},
		"cut off":        {file(t, archive[:len(archive)/2]), []string{"no tar"}},
		"gzip cut off":   {file(t, gzipOf(t, archive)[:len(archive)/20]), []string{"unexpected EOF"}},
		"old layout":     {write(t, change("oci-layout", `{"imageLayoutVersion":"0.1"}`)), []string{`"0.1"`}},
		"no index":       {write(t, change("index.json", "")), []string{"index.json"}},
		"index no JSON":  {write(t, change("index.json", "{")), []string{"index.json"}},
		"no image":       {write(t, change("index.json", `{"schemaVersion":2,"manifests":[]}`)), []string{"no image is in it"}},
		"blob missing":   {write(t, change(layer, "")), []string{"missing", digest.FromBytes(m.layers[0]).Encoded()}},
		"blob flipped":   {write(t, change(layer, string(flipped))), []string{digest.FromBytes(m.layers[0]).Encoded()}},
		"blob longer":    {write(t, change(layer, whole[layer]+"x")), []string{"bytes"}},
		"in an archive":  {file(t, tarOf(t, change(layer, string(flipped)))), []string{digest.FromBytes(m.layers[0]).Encoded()}},
		"wrong diff id":  {write(t, oci(t, map[string]*made{"": wrongID})), []string{"layer 2 of 2", "diff id"}},
		"fewer diff ids": {write(t, oci(t, map[string]*made{"": fewer})), []string{"1 layers", "2"}},
		"other arch":     {write(t, oci(t, map[string]*made{"": other})), []string{"linux/" + foreignArch, "linux/" + runtime.GOARCH}},
		"other system":   {write(t, oci(t, map[string]*made{"": windows})), []string{"windows/" + runtime.GOARCH, "linux/" + runtime.GOARCH}},
		"docker arch":    {file(t, tarOf(t, other.docker(t))), []string{"linux/" + foreignArch, "linux/" + runtime.GOARCH}},
		"docker diff id": {file(t, tarOf(t, wrongID.docker(t))), []string{"layer"}},
		"docker layer":   {file(t, tarOf(t, noLayer)), []string{"layer.tar"}},
		"hostile layer":  {write(t, oci(t, map[string]*made{"": hostile})), []string{"layer 2 of 2", `"../out"`}},
		"hostile tar":    {file(t, tarOf(t, tree{"etc/": "", "../../out": "x"})), []string{`".."`}},
		"no layer":       {write(t, oci(t, map[string]*made{"": imageOf(t)})), []string{"no layer"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			before, err := s.Import(t.Context(), write(t, oci(t, map[string]*made{"": imageOf(t, tree{"before": "x"})})), Options{Name: "x"})
			must(t, err)
			kept := list(t, s.layout.Dir())
			_, err = s.Import(t.Context(), c.path, Options{Name: "x"})
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, word := range append(c.words, "import ") {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("no %q in %q", word, err)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a sentence: %q", err)
			}
			if now, err := s.Get("x"); err != nil || now != before.Image {
				t.Errorf("the name stands for %+v, %v", now, err)
			}
			if left := list(t, s.layout.Dir()); strings.Join(left, "\n") != strings.Join(kept, "\n") {
				t.Errorf("left behind:\n%q\nbefore:\n%q", left, kept)
			}
		})
	}
}

// TestLayoutHasNoWayOut follows no link out of a layout, and waits for no FIFO in it.
func TestLayoutHasNoWayOut(t *testing.T) {
	m := python(t)
	for name, replace := range map[string]func(layer, outside string) error{
		"inside": func(layer, _ string) error { // which is no way out
			return errors.Join(os.Rename(layer, layer+".x"), os.Symlink(filepath.Base(layer)+".x", layer))
		},
		"out": func(layer, outside string) error { return errors.Join(os.Remove(layer), os.Symlink(outside, layer)) },
		"parent": func(layer, _ string) error {
			return errors.Join(os.Rename(layer, layer+".x"), os.Symlink("../../../"+filepath.Base(layer), layer))
		},
		"fifo": func(layer, _ string) error { return errors.Join(os.Remove(layer), unix.Mkfifo(layer, 0o600)) },
	} {
		dir := write(t, oci(t, map[string]*made{"": m}))
		layer := filepath.Join(dir, "blobs", "sha256", digest.FromBytes(m.layers[0]).Encoded())
		must(t, replace(layer, file(t, m.layers[0])))
		_, err := newStore(t).Import(t.Context(), dir, Options{Name: "x"})
		if (err == nil) != (name == "inside") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImportUnreadable names a file that the user may not read. Root may read everything, which other tests check.
func TestImportUnreadable(t *testing.T) {
	path := file(t, tarOf(t, tree{"etc/": ""}))
	must(t, os.Chmod(path, 0))
	s := newStore(t)
	_, err := s.Import(t.Context(), path, Options{Name: "x"})
	if asRoot := os.Geteuid() == 0; asRoot != (err == nil) || err != nil && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}

// TestChoose finds the image for this platform, or that which a tag names.
func TestChoose(t *testing.T) {
	python, other, second := python(t), python(t), imageOf(t, tree{"second": "x"})
	other.config.Architecture = foreignArch
	files := tree{}
	for name, data := range oci(t, map[string]*made{"example/python:3": python, "second": second}) {
		files[name] = data
	}
	for tag, want := range map[string]string{"": "--tag: example/python:3, second", "none": `no image "none"`, "3": "", "second": "", "example/python:3": ""} {
		s := newStore(t)
		got, err := s.Import(t.Context(), write(t, files), Options{Name: "x", Tag: tag})
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("tag %q: %v", tag, err)
		}
		if isSecond := got.Digest == second.into(t, tree{}).Digest; err == nil && isSecond != (tag == "second") {
			t.Errorf("tag %q chose %s", tag, got.Digest)
		}
	}
	twice := tree{}
	for name, data := range python.docker(t, "a:1") {
		twice[name] = data
	}
	twice["manifest.json"] = strings.Replace(twice["manifest.json"], "]}]", `]},{"Config":"x.json","RepoTags":["b:2"],"Layers":[]}]`, 1)
	for tag, want := range map[string]string{"": "--tag: a:1, b:2", "1": ""} {
		_, err := newStore(t).Import(t.Context(), file(t, tarOf(t, twice)), Options{Name: "x", Tag: tag})
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("docker, tag %q: %v", tag, err)
		}
	}
}

// TestPlatforms takes the image for this platform from an index, also if indexes are in indexes.
func TestPlatforms(t *testing.T) {
	mine, other, newer := python(t), python(t), imageOf(t, tree{"v3": "x"})
	other.config.Architecture = foreignArch
	for depth := 1; depth <= maxIndexes+1; depth++ {
		files := tree{"oci-layout": `{"imageLayoutVersion":"1.0.0"}`}
		want := mine.into(t, files)
		var list []ocispec.Descriptor
		for _, one := range []struct {
			desc     ocispec.Descriptor
			platform ocispec.Platform
		}{
			{other.into(t, files), ocispec.Platform{OS: "linux", Architecture: foreignArch}},
			{want, ocispec.Platform{OS: "unknown", Architecture: "unknown"}}, // as build attestations are listed
			{newer.into(t, files), ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH, Variant: "v99"}},
			{want, ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}},
		} {
			one.desc.Platform = &one.platform
			list = append(list, one.desc)
		}
		for range depth {
			index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: list}
			index.SchemaVersion = 2
			data := jsonOf(t, index)
			desc := blob(ocispec.MediaTypeImageIndex, data)
			files["blobs/sha256/"+desc.Digest.Encoded()] = string(data)
			list = []ocispec.Descriptor{desc}
		}
		index := ocispec.Index{Manifests: list}
		index.SchemaVersion = 2
		files["index.json"] = string(jsonOf(t, index))
		got, err := newStore(t).Import(t.Context(), write(t, files), Options{Name: "x"})
		if tooDeep := depth > maxIndexes; tooDeep != (err != nil) || err == nil && got.Digest != want.Digest {
			t.Errorf("%d indexes: %s, %v; want %s", depth, got.Digest, err, want.Digest)
		}
	}
}

// TestCanceled leaves nothing wherever an import is canceled.
func TestCanceled(t *testing.T) {
	path := file(t, zstdOf(t, tarOf(t, tree{"usr/": "", "usr/big": strings.Repeat("0123456789abcdef", 1<<18)})))
	for _, phase := range []string{Reading, Copying, Unpacking} {
		s := newStore(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Import(ctx, path, Options{Name: "x", Progress: func(p Progress) {
			if p.Phase == phase {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled while it would %s: %v", phase, err)
		}
		for _, left := range list(t, s.layout.Dir()) {
			if strings.HasPrefix(left, "blobs/sha256/") || strings.HasPrefix(left, "roots/") || strings.HasPrefix(left, "ingest/") {
				t.Errorf("canceled while it would %s, it left %s", phase, left)
			}
		}
		cancel()
	}
}

// growing is a file that is longer than it was when it was opened.
type growing struct{}

func (growing) open(string) (io.ReadCloser, int64, error) {
	return io.NopCloser(io.LimitReader(zeros{}, layout.MaxManifest+1)), 0, nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestReadAllRefusesGrowingFile(t *testing.T) {
	if data, err := readAll(growing{}, "index.json"); err == nil || err.Error() != "index.json: it has more than 4MiB" {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
