package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
)

// mostResource bounds a resource in bytes.
const mostResource = 4 << 20

// readResource answers with an output of the run and the digest in its URI.
func (t *tools) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := r.Params.URI
	entry, err := t.resource(ctx, uri)
	if errors.As(err, new(*engine.NotFoundError)) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	if entry.Size > mostResource {
		return nil, fmt.Errorf("the output has %s, a resource at most %s; read_output reads parts of it", format.Size(entry.Size), format.Size(mostResource))
	}
	data, err := t.piece(ctx, entry, 0, entry.Size)
	if err != nil {
		return nil, err
	}
	contents := &mcp.ResourceContents{URI: uri, MIMEType: safeType(entry.MediaType)}
	if strings.HasPrefix(contents.MIMEType, "image/") || contents.MIMEType == binaryType || !utf8.Valid(data) {
		contents.Blob = data
	} else {
		contents.Text = string(data)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

// resource is the output with a URI. If there is none the error is a *engine.NotFoundError.
func (t *tools) resource(ctx context.Context, uri string) (e outputs.Entry, err error) {
	name, sha256, path, ok := parseURI(uri)
	none := &engine.NotFoundError{Err: errors.New("there is no such output; give a uri as list_outputs shows it")}
	if !ok {
		return e, none
	}
	run, err := t.find(ctx, name)
	if err != nil {
		return e, err
	}
	if e, err = t.Engine.Output(ctx, run, path); err == nil && e.SHA256 != sha256 {
		err = none
	}
	return e, err
}

// parseURI reads the URI of an output.
func parseURI(uri string) (run, sha256, path string, ok bool) {
	rest, found := strings.CutPrefix(uri, outputScheme)
	parts := strings.SplitN(rest, "/", 4)
	if !found || len(parts) != 4 || parts[1] != "outputs" {
		return "", "", "", false
	}
	run, badRun := url.PathUnescape(parts[0])
	path, badPath := url.PathUnescape(parts[3])
	return run, parts[2], path, badRun == nil && badPath == nil
}

const (
	binaryType = "application/octet-stream"
	plainType  = "text/plain"
)

// safeType is the media type that a client gets: none that it might execute, as it might HTML and SVG.
func safeType(mediaType string) string {
	switch mediaType {
	case png, "image/jpeg", "text/csv", "text/tab-separated-values", "application/json":
		return mediaType
	case "image/svg+xml":
		return plainType
	}
	if strings.HasPrefix(mediaType, "text/") {
		return plainType
	}
	return binaryType
}
