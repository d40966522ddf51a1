package report

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// The limits of embedded images, in bytes and pixels. A browser takes four bytes for each pixel.
const (
	figureMax    = 4 << 20
	figuresMax   = 12 << 20
	pixelsMax    = 25_000_000
	allPixelsMax = 100_000_000
)

// errNoImage is for contents in none of the embedded formats, whatever the name says.
var errNoImage = errors.New("its contents are no PNG, JPEG, GIF or SVG image")

// figure is one image among the outputs.
type figure struct {
	Path, Size    string
	Source        template.URL // data:, of examined contents; empty if the image is not shown
	Width, Height int          // pixels; 0 for SVG
	Why           string       // it is not shown
	Also          []string     // other files of the same figure
}

// Alt is the alternative text; the content of the image is unknown.
func (f figure) Alt() string {
	if f.Width == 0 {
		return "Figure " + visible(f.Path)
	}
	return fmt.Sprintf("Figure %s, %d by %d pixels", visible(f.Path), f.Width, f.Height)
}

// gallery embeds images up to a total size.
type gallery struct {
	blobs         Blobs
	bytes, pixels int64
}

// of shows one of the files of a figure: a drawing, which is sharp at any size, or else the first that can be shown.
func (g *gallery) of(files []result.Output) figure {
	slices.SortStableFunc(files, func(a, b result.Output) int { return rank(a) - rank(b) })
	var first figure
	for i, o := range files {
		f := g.figure(o)
		if i == 0 {
			first = f
		}
		if f.Source != "" {
			first = f
			break
		}
	}
	for _, o := range files {
		if o.Path != first.Path {
			first.Also = append(first.Also, o.Path)
		}
	}
	return first
}

func rank(o result.Output) int {
	if o.MediaType == "image/svg+xml" {
		return 0
	}
	return 1
}

func (g *gallery) figure(o result.Output) figure {
	shown := figure{Path: o.Path, Size: format.Size(o.Size)}
	if o.Size > figureMax {
		shown.Why = fmt.Sprintf("Not shown: it has more than %s.", format.Size(figureMax))
		return shown
	}
	content, err := whole(g.blobs, o.SHA256, figureMax)
	if err != nil {
		shown.Why = unread(err)
		return shown
	}
	g.embed(&shown, content)
	return shown
}

// embed examines the contents of an image and gives it its source, or the reason why it has none.
func (g *gallery) embed(f *figure, content []byte) {
	media, width, height, err := examine(content)
	if err == nil {
		err = g.admit(len(content), width, height)
	}
	if err != nil {
		f.Why = "Not shown: " + err.Error() + "."
		return
	}
	f.Width, f.Height = width, height
	f.Source = template.URL("data:" + media + ";base64," + base64.StdEncoding.EncodeToString(content)) //nolint:gosec // two constant words and an alphabet without meaning
}

func (g *gallery) admit(bytes, width, height int) error {
	if g.bytes+int64(bytes) > figuresMax || g.pixels+int64(width)*int64(height) > allPixelsMax {
		return errors.New("the figures before it are as much as a page has")
	}
	g.bytes, g.pixels = g.bytes+int64(bytes), g.pixels+int64(width)*int64(height)
	return nil
}

// examine detects an image's type only by its contents, and its size in pixels, 0 for SVG.
func examine(content []byte) (media string, width, height int, err error) {
	if media, width, height, err = raster(content); media != "" || err != nil {
		return media, width, height, err
	}
	if !strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(string(content[:min(len(content), 512)]), "\xef\xbb\xbf"), " \t\r\n"), "<") {
		return "", 0, 0, errNoImage
	}
	return "image/svg+xml", 0, 0, checkSVG(content)
}

// raster detects a raster image by its first bytes, and its size by its header. Others are "".
func raster(content []byte) (media string, width, height int, err error) {
	for _, format := range []struct {
		magic, media string
		decode       func(io.Reader) (image.Config, error)
	}{
		{"\x89PNG\r\n\x1a\n", "image/png", png.DecodeConfig},
		{"\xff\xd8\xff", "image/jpeg", jpeg.DecodeConfig},
		{"GIF87a", "image/gif", gif.DecodeConfig},
		{"GIF89a", "image/gif", gif.DecodeConfig},
	} {
		if !bytes.HasPrefix(content, []byte(format.magic)) {
			continue
		}
		c, err := format.decode(bytes.NewReader(content))
		switch {
		case err != nil:
			return "", 0, 0, fmt.Errorf("its header cannot be read (%w)", err)
		case c.Width < 1 || c.Height < 1:
			return "", 0, 0, errors.New("it has no pixels")
		case int64(c.Width)*int64(c.Height) > pixelsMax:
			return "", 0, 0, fmt.Errorf("it has %d by %d pixels, and %d million are the most", c.Width, c.Height, pixelsMax/1_000_000)
		}
		return format.media, c.Width, c.Height, nil
	}
	return "", 0, 0, nil
}
