package unpack

import (
	"archive/tar"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	digest "github.com/opencontainers/go-digest"
)

// umoci also unpacks images as any user. If its tree of a layer differs, the case says so and why; if a case is an
// error here, umoci may make anything of it that stays inside the root.
func TestUmociAgrees(t *testing.T) {
	if _, err := exec.LookPath("umoci"); err != nil {
		t.Skip("umoci is missing, which scripts/setup test installs: nothing is compared with it")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			c := c.at(s.canary)
			is, err := umoci(t, c.layers)
			s.untouched()
			if c.umoci == nil && c.err != "" {
				if err == nil {
					t.Errorf("umoci takes it and makes\n%s", strings.Join(is, "\n"))
				}
				return
			}
			want := c.want
			if c.umoci != nil {
				want = c.umoci
				if c.reason == "" || slices.Equal(want, c.want) {
					t.Error("the case does not say why umoci may differ, or it does not differ")
				}
			}
			if err != nil || !slices.Equal(is, want) {
				t.Errorf("umoci (%v) makes\n%s\nand not\n%s", err, strings.Join(is, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// umoci returns the tree that it makes of an image.
func umoci(t *testing.T, layers [][]tar.Header) ([]string, error) {
	layout, bundle := t.TempDir(), t.TempDir()+"/bundle"
	writeLayout(t, layout, layers)
	said, err := exec.Command("umoci", "unpack", "--rootless", "--image", layout+":t", bundle).CombinedOutput()
	if err != nil {
		t.Logf("%s", said)
		return nil, err
	}
	return tree(t, bundle+"/rootfs"), nil
}

// writeLayout makes an OCI image layout of one image with the reference t.
func writeLayout(t *testing.T, layout string, layers [][]tar.Header) {
	must(t, os.MkdirAll(layout+"/blobs/sha256", 0o755))
	var diffs []digest.Digest
	var descs []any
	for _, l := range layers {
		data := archive(t, l...)
		diffs = append(diffs, digest.FromBytes(data))
		descs = append(descs, putBlob(t, layout, "application/vnd.oci.image.layer.v1.tar", data))
	}
	config := putBlob(t, layout, "application/vnd.oci.image.config.v1+json", encode(t, map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffs},
	}))
	manifest := putBlob(t, layout, "application/vnd.oci.image.manifest.v1+json", encode(t, map[string]any{
		"schemaVersion": 2, "config": config, "layers": descs,
	}))
	manifest["annotations"] = map[string]string{"org.opencontainers.image.ref.name": "t"}
	index := encode(t, map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})
	must(t, os.WriteFile(layout+"/index.json", index, 0o644))
	must(t, os.WriteFile(layout+"/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
}

func putBlob(t *testing.T, layout, mediaType string, data []byte) map[string]any {
	is := digest.FromBytes(data)
	must(t, os.WriteFile(filepath.Join(layout, "blobs/sha256", is.Encoded()), data, 0o644))
	return map[string]any{"mediaType": mediaType, "digest": is, "size": len(data)}
}

func encode(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	must(t, err)
	return b
}
