package image

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// pythonFiles is what the root of the image python has.
var pythonFiles = []string{
	"bin->usr/bin", "etc", "etc/os-release=ID=test\n", "usr", "usr/bin", "usr/bin/python3=#!interpreter", "usr/lib",
	"usr/lib/module.py=x = 1\n",
}

// TestImport takes one image in every form, and finds the same root.
func TestImport(t *testing.T) {
	m := python(t)
	flat := tarOf(t, tree{
		"./": "", "usr/": "", "usr/bin/": "", "usr/bin/python3": "#!interpreter", "etc/": "", "etc/os-release": "ID=test\n",
		"usr/lib/": "", "usr/lib/module.py": "x = 1\n", "bin": "->usr/bin",
	})
	zipped := python(t)
	zipped.layers = [][]byte{gzipOf(t, m.layers[0]), zstdOf(t, m.layers[1])}
	both := oci(t, map[string]*made{"python:3": m})
	both["manifest.json"] = string(jsonOf(t, []dockerImage{{Config: "nothing", Layers: []string{"at all"}}}))
	linked := m.docker(t, "python:3")
	linked[strings.Repeat("b", 64)+"/layer.tar"] = "->../" + strings.Repeat("c", 64) + ".tar"
	linked[strings.Repeat("c", 64)+".tar"] = string(m.layers[1])
	for name, path := range map[string]string{
		"layout":             write(t, oci(t, map[string]*made{"": m})),
		"compressed layers":  write(t, oci(t, map[string]*made{"latest": zipped})),
		"OCI archive":        file(t, tarOf(t, oci(t, map[string]*made{"latest": m}))),
		"OCI archive gzip":   file(t, gzipOf(t, tarOf(t, oci(t, map[string]*made{"latest": m})))),
		"docker save":        file(t, tarOf(t, m.docker(t, "python:3"))),
		"docker save zstd":   file(t, zstdOf(t, tarOf(t, m.docker(t, "python:3")))),
		"docker save links":  file(t, tarOf(t, linked)),
		"docker layers gzip": file(t, tarOf(t, zipped.docker(t))),
		"both":               file(t, tarOf(t, both)),
		"root tar":           file(t, flat),
		"root tar gzip":      file(t, gzipOf(t, flat)),
		"root tar zstd":      file(t, zstdOf(t, flat)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			got, err := s.Import(t.Context(), path, Options{Name: "python"})
			must(t, err)
			if got.Unchanged || got.Replaced != "" || got.Platform != "linux/"+runtime.GOARCH || got.Reference != "python@"+got.Digest.String() {
				t.Errorf("imported %+v", got)
			}
			root, err := s.Root(t.Context(), "python")
			must(t, err)
			defer root.Close()
			if files := list(t, root.Dir); !slices.Equal(files, pythonFiles) {
				t.Errorf("root %q", files)
			}
			if fromTar := strings.HasPrefix(name, "root tar"); fromTar != (root.Config.WorkingDir == "") {
				t.Errorf("config %+v", root.Config)
			}
			checkLayout(t, s, "python")
		})
	}
}

// checkLayout reads the store as any OCI tool would: the name leads to an OCI manifest whose blobs are there.
func checkLayout(t *testing.T, s *Store, name string) {
	t.Helper()
	var index ocispec.Index
	readJSON(t, filepath.Join(s.layout.Dir(), "index.json"), &index)
	at := slices.IndexFunc(index.Manifests, func(d ocispec.Descriptor) bool { return d.Annotations[ocispec.AnnotationRefName] == name })
	if at < 0 || index.Manifests[at].MediaType != ocispec.MediaTypeImageManifest {
		t.Fatalf("index %+v", index)
	}
	blobs := filepath.Join(s.layout.Dir(), "blobs", "sha256")
	var manifest ocispec.Manifest
	readJSON(t, filepath.Join(blobs, index.Manifests[at].Digest.Encoded()), &manifest)
	for _, desc := range append(manifest.Layers, manifest.Config, index.Manifests[at]) {
		data, err := os.ReadFile(filepath.Join(blobs, desc.Digest.Encoded()))
		if err != nil || digest.FromBytes(data) != desc.Digest || int64(len(data)) != desc.Size {
			t.Errorf("%s: %d bytes, %v", desc.Digest, len(data), err)
		}
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, json.Unmarshal(data, into))
}
