package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

const (
	// mostFigure bounds a figure in bytes, and those of an answer together.
	mostFigure  = 1 << 20
	mostFigures = 4
)

// png is the media type of figures that come as images. SVG is a program: it comes as text.
const png = "image/png"

// signature begins each PNG file.
var signature = []byte("\x89PNG\r\n\x1a\n")

// figure is an output as an image; nil: it is none.
func (t *tools) figure(ctx context.Context, e outputs.Entry) (mcp.Content, error) {
	if e.MediaType != png {
		return nil, nil
	}
	if e.Size > mostFigure {
		return nil, fmt.Errorf("output %s is a figure of %s; at most %s come as an image: make it smaller, or read its resource", shown(string(e.Path)), format.Size(e.Size), format.Size(mostFigure))
	}
	data, err := t.piece(ctx, e, 0, e.Size)
	if err != nil || !bytes.HasPrefix(data, signature) {
		return nil, err
	}
	return &mcp.ImageContent{Data: data, MIMEType: png}, nil
}

// figures are the first small figures of a run.
func (t *tools) figures(ctx context.Context, r result.Result) (images []mcp.Content) {
	left := int64(mostFigure)
	for _, o := range r.Outputs {
		if o.MediaType != png || o.Size > left || len(images) == mostFigures {
			continue
		}
		image, err := t.figure(ctx, outputs.Entry{Path: []byte(o.Path), Size: o.Size, SHA256: o.SHA256, MediaType: o.MediaType})
		if err != nil || image == nil {
			continue // read_output says why
		}
		images = append(images, image)
		left -= o.Size
	}
	return images
}

// links are links to the first outputs of a run.
func links(r result.Result) (all []mcp.Content) {
	for _, o := range r.Outputs[:min(len(r.Outputs), mostNamed)] {
		if uri := outputURI(r.Key().String(), o); uri != "" {
			all = append(all, &mcp.ResourceLink{URI: uri, Name: o.Path, MIMEType: safeType(o.MediaType), Size: &o.Size})
		}
	}
	return all
}

// structured is an answer with the JSON of its structured content, which clients that do not know that read; more can be added.
func structured(out any) (*mcp.CallToolResult, error) {
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}
