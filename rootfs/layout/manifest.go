package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Docker's media types that OCI has standardized (image manifest version 2, schema 2).
const (
	MediaTypeDockerManifest     = "application/vnd.docker.distribution.manifest.v2+json"
	MediaTypeDockerManifestList = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// MaxManifest bounds a manifest or an index in bytes, as registries do (distribution specification, "Pushing manifests":
// at least 4 MiB are accepted).
const MaxManifest = 4 << 20

// maxChildren bounds the layers of an image and the manifests of an index. Docker makes at most 127 layers.
const maxChildren = 1024

// isManifest reports whether a media type is an image manifest's.
func isManifest(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == MediaTypeDockerManifest
}

// IsIndex reports whether a media type is an index's.
func IsIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == MediaTypeDockerManifestList
}

// document is both a manifest and an index: one that is both or neither must be refused, as tools would disagree on it
// (CVE-2021-41190).
type document struct {
	SchemaVersion int                  `json:"schemaVersion"`
	MediaType     string               `json:"mediaType"`
	ArtifactType  string               `json:"artifactType"`
	Config        *ocispec.Descriptor  `json:"config"`
	Layers        []ocispec.Descriptor `json:"layers"`
	Manifests     []ocispec.Descriptor `json:"manifests"`
	FSLayers      []json.RawMessage    `json:"fsLayers"` // of schema 1
	Annotations   map[string]string    `json:"annotations"`
}

// ParseManifest parses an image manifest, of OCI's media type or Docker's, and checks its descriptors.
func ParseManifest(mediaType string, data []byte) (ocispec.Manifest, error) {
	doc, err := parse(mediaType, data)
	if err != nil {
		return ocispec.Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	if !isManifest(mediaType) || doc.Config == nil || doc.Manifests != nil {
		return ocispec.Manifest{}, fmt.Errorf("manifest: a %q with a config and layers is wanted", clip(mediaType))
	}
	if err := checkAll(append([]ocispec.Descriptor{*doc.Config}, doc.Layers...)); err != nil {
		return ocispec.Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	m := ocispec.Manifest{MediaType: mediaType, ArtifactType: doc.ArtifactType, Config: *doc.Config, Layers: doc.Layers}
	m.SchemaVersion, m.Annotations = doc.SchemaVersion, doc.Annotations
	return m, nil
}

// ParseIndex parses an index, of OCI's media type or Docker's, and checks its descriptors.
func ParseIndex(mediaType string, data []byte) (ocispec.Index, error) {
	doc, err := parse(mediaType, data)
	if err != nil {
		return ocispec.Index{}, fmt.Errorf("index: %w", err)
	}
	if !IsIndex(mediaType) || doc.Config != nil || doc.Layers != nil {
		return ocispec.Index{}, fmt.Errorf("index: a %q with only manifests is wanted", clip(mediaType))
	}
	if err := checkAll(doc.Manifests); err != nil {
		return ocispec.Index{}, fmt.Errorf("index: %w", err)
	}
	i := ocispec.Index{MediaType: mediaType, ArtifactType: doc.ArtifactType, Manifests: doc.Manifests}
	i.SchemaVersion, i.Annotations = doc.SchemaVersion, doc.Annotations
	return i, nil
}

// parse allows unknown fields, as the image specification requires.
func parse(mediaType string, data []byte) (document, error) {
	var doc document
	if len(data) > MaxManifest {
		return doc, fmt.Errorf("it has %d bytes, more than %d", len(data), MaxManifest)
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return doc, err
	}
	switch {
	case doc.SchemaVersion == 1 || doc.FSLayers != nil:
		return doc, errors.New("schema 1 of Docker is too old to be verified; the image must be pushed again")
	case doc.SchemaVersion != 2:
		return doc, fmt.Errorf("it has the schema version %d, not 2", doc.SchemaVersion)
	case doc.MediaType != "" && doc.MediaType != mediaType:
		return doc, fmt.Errorf("it calls itself a %q and was announced as a %q", clip(doc.MediaType), clip(mediaType))
	}
	return doc, nil
}

func checkAll(descs []ocispec.Descriptor) error {
	if len(descs) > maxChildren {
		return fmt.Errorf("it lists %d blobs, more than %d", len(descs), maxChildren)
	}
	for _, desc := range descs {
		if err := Check(desc); err != nil {
			return err
		}
	}
	return nil
}

// children returns what a manifest or an index in the layout refers to; nothing for any other blob.
func (l *Layout) children(desc ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	if !isManifest(desc.MediaType) && !IsIndex(desc.MediaType) {
		return nil, nil
	}
	data, err := l.Document(desc)
	if err != nil {
		return nil, err
	}
	if IsIndex(desc.MediaType) {
		index, err := ParseIndex(desc.MediaType, data)
		return index.Manifests, err
	}
	m, err := ParseManifest(desc.MediaType, data)
	return slices.Concat([]ocispec.Descriptor{m.Config}, m.Layers), err
}

// Document reads a manifest, an index or a config, verified, of at most MaxManifest bytes.
func (l *Layout) Document(desc ocispec.Descriptor) ([]byte, error) {
	if desc.Size > MaxManifest {
		return nil, fmt.Errorf("blob %s: it has %d bytes, more than %d", desc.Digest, desc.Size, MaxManifest)
	}
	r, err := l.Blob(desc)
	if err != nil {
		return nil, advised(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return data, advised(err)
}
