package commands

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
	"github.com/scidex-ai/scidex-oci/rootfs/registry"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

const (
	outputsType = "application/vnd.scidex-oci.outputs.v1"
	// bundleType is several envelopes, one on a line (in-toto's attestation bundle).
	bundleType = "application/vnd.in-toto.bundle"

	attemptAnnotation = "ai.scidex.oci.attempt"
	pathAnnotation    = "ai.scidex.oci.path-b64" // the exact bytes of a path that is not UTF-8
)

// artifactsOf returns the outputs of a run with its result, and what refers to them.
func artifactsOf(ctx context.Context, st *stores.Stores, run catalog.Run) (first registry.Artifact, about []func(ocispec.Descriptor) registry.Artifact, err error) {
	report, err := result.ReportOf(run)
	if err != nil {
		return first, nil, err
	}
	first = registry.Artifact{Type: outputsType, Annotations: map[string]string{
		ocispec.AnnotationTitle: run.ID, attemptAnnotation: fmt.Sprint(run.Attempt),
	}}
	left := deliver.LeftOut{Run: run.Key}
	err = st.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && !left.Add(e.Path) {
			first.Files = append(first.Files, artifactFile(st, result.NewOutput(e)))
		}
		return true
	})
	if err != nil {
		return first, nil, err
	}
	if warning := left.Warning(); warning != "" {
		st.Host.Log.Warn(warning)
	}
	raw, err := resultOf(ctx, st, run, report.Statement)
	if err != nil {
		return first, nil, err
	}
	first.Files = append(first.Files, fileWith(result.File, "application/json", raw))
	if report.Statement == nil {
		return first, nil, nil
	}
	signed, err := readBlob(ctx, st, report.Statement.SHA256)
	return first, []func(ocispec.Descriptor) registry.Artifact{func(subject ocispec.Descriptor) registry.Artifact {
		return registry.Artifact{Type: bundleType, Subject: &subject, Files: []registry.File{fileWith(result.StatementFile, bundleType, signed)}}
	}}, err
}

// artifactFile is an output, which is read from the blob store and verified there.
func artifactFile(st *stores.Stores, o result.Output) registry.File {
	notes := map[string]string{ocispec.AnnotationTitle: o.Path}
	if o.PathB64 != "" {
		notes[pathAnnotation] = o.PathB64
	}
	return registry.File{MediaType: o.MediaType, SHA256: o.SHA256, Size: o.Size, Annotations: notes, Open: func(ctx context.Context) (io.ReadCloser, error) {
		return st.Blobs.Open(ctx, o.SHA256)
	}}
}

func fileWith(name, mediaType string, content []byte) registry.File {
	sum := sha256.Sum256(content)
	return registry.File{
		MediaType: mediaType, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)),
		Annotations: map[string]string{ocispec.AnnotationTitle: name},
		Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content)), nil
		},
	}
}

// resultOf is the result: of a signed run as it was signed.
func resultOf(ctx context.Context, st *stores.Stores, run catalog.Run, signed *result.Statement) ([]byte, error) {
	if signed != nil {
		return readBlob(ctx, st, signed.ResultSHA256)
	}
	res, err := watch.Show(ctx, st.Host, run)
	if err != nil {
		return nil, err
	}
	return res.FileContent()
}

// readBlob reads a file that scidex-oci has written into the blob store.
func readBlob(ctx context.Context, st *stores.Stores, sha256 string) (content []byte, err error) {
	from, err := st.Blobs.Open(ctx, sha256)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if content, err = bounded.ReadAll(from, statement.Max); err != nil {
		return nil, fmt.Errorf("read blob %s: %w", sha256, err)
	}
	return content, nil
}
