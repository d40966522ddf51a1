package layout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// baseline are the variants of an architecture that all its machines run. Others, like amd64/v3, are skipped: an image
// that needs them is no safe choice.
var baseline = map[string][]string{
	"amd64": {"", "v1"},
	"arm64": {"", "v8"},
}

// Choose returns an index's manifest for a platform, the first if there are several.
func Choose(manifests []ocispec.Descriptor, want ocispec.Platform) (ocispec.Descriptor, error) {
	var others []string
	for _, m := range manifests {
		if m.Platform == nil {
			continue
		}
		if fits(*m.Platform, want) {
			return m, nil
		}
		// Build attestations are listed among the images, as platform "unknown".
		if name := PlatformName(*m.Platform); m.Platform.OS != "unknown" && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	switch {
	case len(others) > 0:
		return ocispec.Descriptor{}, fmt.Errorf("there is no image for %s; there is one for %s", PlatformName(want), strings.Join(others, ", "))
	case len(manifests) == 1 && manifests[0].Platform == nil: // its config says it
		return manifests[0], nil
	}
	return ocispec.Descriptor{}, errors.New("its index names no image with a platform")
}

func fits(have, want ocispec.Platform) bool {
	if have.OS != want.OS || have.Architecture != want.Architecture {
		return false
	}
	variants, known := baseline[want.Architecture]
	if want.Variant != "" || !known {
		return have.Variant == want.Variant
	}
	return slices.Contains(variants, have.Variant)
}

// PlatformName formats a platform: "linux/arm64/v8".
func PlatformName(p ocispec.Platform) string {
	name := p.OS + "/" + p.Architecture
	if p.Variant != "" {
		name += "/" + p.Variant
	}
	return fmt.Sprintf("%.100s", name)
}
