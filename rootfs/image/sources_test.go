package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// tree is the contents of a layer or an archive by name: "dir/" is a directory, "->x" a link, all else a file.
type tree map[string]string

// tarOf makes a tar, the names sorted.
func tarOf(t *testing.T, entries tree) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		h := &tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(entries[name])), Format: tar.FormatPAX}
		if target, isLink := strings.CutPrefix(entries[name], "->"); isLink {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, target, 0
		}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		must(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := w.Write([]byte(entries[name]))
			must(t, err)
		}
	}
	must(t, w.Close())
	return buffer.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gzipOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, err := w.Write(data)
	must(t, err)
	must(t, w.Close())
	return buffer.Bytes()
}

func zstdOf(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return w.EncodeAll(data, nil)
}

// made is an image that a test makes, as files of an OCI layout and as what may be changed before they are.
type made struct {
	layers   [][]byte // as they are stored
	config   ocispec.Image
	manifest ocispec.Manifest
}

// imageOf makes an image of layers without compression.
func imageOf(t *testing.T, layers ...tree) *made {
	t.Helper()
	m := &made{}
	m.config.Platform = ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
	m.config.RootFS.Type = "layers"
	for _, layer := range layers {
		data := tarOf(t, layer)
		m.layers = append(m.layers, data)
		m.config.RootFS.DiffIDs = append(m.config.RootFS.DiffIDs, digest.FromBytes(data))
	}
	return m
}

// python is the image of most tests.
func python(t *testing.T) *made {
	m := imageOf(t,
		tree{"usr/": "", "usr/bin/": "", "usr/bin/python3": "#!interpreter", "etc/": "", "etc/os-release": "ID=test\n"},
		tree{"usr/lib/": "", "usr/lib/module.py": "x = 1\n", "bin": "->usr/bin"})
	m.config.Config = ocispec.ImageConfig{Env: []string{"PATH=/usr/bin", "LANG=C"}, WorkingDir: "/srv", Entrypoint: []string{"python3"}}
	return m
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

func blob(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// oci are the files of an OCI layout that has the images, each under its name.
func oci(t *testing.T, images map[string]*made) tree {
	t.Helper()
	files := tree{"oci-layout": `{"imageLayoutVersion":"1.0.0"}`}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, name := range slices.Sorted(maps.Keys(images)) {
		desc := images[name].into(t, files)
		if name != "" {
			desc.Annotations = map[string]string{ocispec.AnnotationRefName: name}
		}
		index.Manifests = append(index.Manifests, desc)
	}
	files["index.json"] = string(jsonOf(t, index))
	return files
}

// into adds the blobs of an image to the files of a layout.
func (m *made) into(t *testing.T, files tree) ocispec.Descriptor {
	t.Helper()
	add := func(mediaType string, data []byte) ocispec.Descriptor {
		desc := blob(mediaType, data)
		files["blobs/sha256/"+desc.Digest.Encoded()] = string(data)
		return desc
	}
	manifest := m.manifest
	manifest.SchemaVersion, manifest.MediaType = 2, ocispec.MediaTypeImageManifest
	manifest.Config = add(ocispec.MediaTypeImageConfig, jsonOf(t, m.config))
	for _, layer := range m.layers {
		manifest.Layers = append(manifest.Layers, add(sniff(layer).mediaType(), layer))
	}
	return add(ocispec.MediaTypeImageManifest, jsonOf(t, manifest))
}

// docker are the files that "docker save" once wrote: a directory for each layer.
func (m *made) docker(t *testing.T, tags ...string) tree {
	t.Helper()
	config := jsonOf(t, m.config)
	one := dockerImage{Config: digest.FromBytes(config).Encoded() + ".json", RepoTags: tags}
	files := tree{one.Config: string(config)}
	for i, layer := range m.layers {
		dir := strings.Repeat(string("abcdef"[i]), 64)
		one.Layers = append(one.Layers, dir+"/layer.tar")
		files[dir+"/"], files[dir+"/layer.tar"], files[dir+"/VERSION"] = "", string(layer), "1.0"
	}
	files["manifest.json"] = string(jsonOf(t, []dockerImage{one}))
	files["repositories"] = "{}"
	return files
}

// write writes files below a new directory.
func write(t *testing.T, files tree) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if !strings.HasSuffix(name, "/") {
			must(t, os.WriteFile(path, []byte(data), 0o600))
		}
	}
	return dir
}

// file writes one file.
func file(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	must(t, os.WriteFile(path, data, 0o600))
	return path
}

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "images"))
	must(t, err)
	return s
}

// list is what a directory holds, a line for each entry: its path, and its contents or its target.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		line := strings.TrimPrefix(path, dir+"/")
		switch {
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += "=" + string(data)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += "->" + target
		}
		all = append(all, line)
		return nil
	})
	must(t, err)
	return all
}
