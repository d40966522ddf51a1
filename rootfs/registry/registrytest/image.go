package registrytest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Run runs a program and returns its standard output.
func Run(t testing.TB, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	var out, errors strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", program, args, err, &out, &errors)
	}
	return strings.TrimSpace(out.String())
}

// Image makes an OCI layout with an image "latest" by umoci, with one layer of random bytes for each size.
func Image(t testing.TB, sizes ...int) (layout string) {
	t.Helper()
	dir := t.TempDir()
	layout = filepath.Join(dir, "layout")
	bundle := filepath.Join(dir, "bundle")
	tag := layout + ":latest"
	Run(t, "umoci", "init", "--layout", layout)
	Run(t, "umoci", "new", "--image", tag)
	Run(t, "umoci", "unpack", "--rootless", "--image", tag, bundle)
	for i, size := range sizes {
		data := make([]byte, size)
		_, _ = rand.Read(data)
		try(t, os.WriteFile(filepath.Join(bundle, "rootfs", fmt.Sprintf("layer-%d", i)), data, 0o644))
		Run(t, "umoci", "repack", "--refresh-bundle", "--image", tag, bundle)
	}
	return layout
}

// Push copies the image "latest" of an OCI layout to the registry by skopeo, with additional arguments.
func (s *Server) Push(t testing.TB, layout, name string, args ...string) {
	t.Helper()
	all := []string{"--insecure-policy", "copy"}
	if s.plain {
		all = append(all, "--dest-tls-verify=false")
	} else {
		all = append(all, "--dest-cert-dir", s.Authority.Dir, "--dest-creds", User+":"+Password)
	}
	all = append(all, args...)
	Run(t, "skopeo", append(all, "oci:"+layout+":latest", "docker://"+s.Address+"/"+name)...)
}

// Manifest returns the digest of the image "latest" of a layout.
func Manifest(t testing.TB, layout string) string {
	t.Helper()
	return image(t, layout).Digest.String()
}

func image(t testing.TB, layout string) ocispec.Descriptor {
	t.Helper()
	var index ocispec.Index
	data, err := os.ReadFile(filepath.Join(layout, ocispec.ImageIndexFile))
	try(t, err, json.Unmarshal(data, &index))
	return index.Manifests[0]
}

// Join makes a layout with an index "latest" of others' images, one for each os/architecture.
func Join(t testing.TB, layouts map[string]string) (layout string) {
	t.Helper()
	layout = t.TempDir()
	list := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex}
	list.SchemaVersion = 2
	for platform, from := range layouts {
		Run(t, "cp", "-r", from+"/.", layout)
		desc := image(t, from)
		desc.Annotations = nil
		desc.Platform = &ocispec.Platform{}
		desc.Platform.OS, desc.Platform.Architecture, _ = strings.Cut(platform, "/")
		list.Manifests = append(list.Manifests, desc)
	}
	data, err := json.Marshal(list)
	try(t, err)
	desc := ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromBytes(data), Size: int64(len(data)),
		Annotations: map[string]string{ocispec.AnnotationRefName: "latest"},
	}
	try(t, os.WriteFile(filepath.Join(layout, "blobs/sha256", desc.Digest.Encoded()), data, 0o644))
	list.Manifests = []ocispec.Descriptor{desc}
	data, err = json.Marshal(list)
	try(t, err, os.WriteFile(filepath.Join(layout, ocispec.ImageIndexFile), data, 0o644))
	return layout
}
