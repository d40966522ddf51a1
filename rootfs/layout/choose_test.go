package layout

import (
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestChoose(t *testing.T) {
	amd64 := ocispec.Platform{OS: "linux", Architecture: "amd64"}
	arm64 := ocispec.Platform{OS: "linux", Architecture: "arm64"}
	for _, c := range []struct {
		want      ocispec.Platform
		have      string
		at        int // -1 if none is chosen
		complaint string
	}{
		{amd64, "windows/amd64 linux/arm64/v8 linux/amd64", 2, ""},
		{amd64, "linux/amd64/v3 linux/amd64/v1 linux/amd64", 1, ""},
		{amd64, "linux/amd64/v3", -1, "there is one for linux/amd64/v3"},
		{arm64, "linux/arm/v7 linux/arm64/v8", 1, ""},
		{amd64, "unknown/unknown", -1, "names no image"},
		{amd64, "", -1, "names no image"},
		{amd64, "linux/arm64 linux/arm64 unknown/unknown", -1, "there is one for linux/arm64"},
	} {
		var manifests []ocispec.Descriptor
		for i, name := range strings.Fields(c.have) {
			part := append(strings.Split(name, "/"), "")
			manifests = append(manifests, ocispec.Descriptor{
				Size: int64(i), Platform: &ocispec.Platform{OS: part[0], Architecture: part[1], Variant: part[2]},
			})
		}
		got, err := Choose(manifests, c.want)
		if c.at < 0 {
			if err == nil || !strings.Contains(err.Error(), c.complaint) {
				t.Errorf("%s of %q: %v, want %q", PlatformName(c.want), c.have, err, c.complaint)
			}
		} else if err != nil || got.Size != int64(c.at) {
			t.Errorf("%s of %q: %d, %v", PlatformName(c.want), c.have, got.Size, err)
		}
	}
}
