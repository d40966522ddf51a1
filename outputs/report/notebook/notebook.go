// Package notebook reads Jupyter notebooks of the formats 2 to 4 (https://nbformat.readthedocs.io). A notebook comes from an
// adversary: what is kept of it is bounded, whatever it holds, and nothing in it is trusted to have the type that the format
// gives it.
package notebook

// What is kept of a notebook.
const (
	cellsMax   = 500
	outputsMax = 50        // of a cell
	textMax    = 64 << 10  // bytes of a source, of a stream, of a traceback or of a text
	htmlMax    = 512 << 10 // bytes of an output in HTML
	imageMax   = 8 << 20   // bytes of an image, encoded
)

// Notebook is the start of a notebook.
type Notebook struct {
	Cells []Cell
	More  int // cells that are not in Cells
}

// Kind is what a cell holds.
type Kind int

// The kinds of cells. Cells of other kinds are raw.
const (
	Raw Kind = iota
	Markdown
	Code
)

// Cell is one cell.
type Cell struct {
	Kind    Kind
	Source  string
	Cut     bool // Source is only the start
	Number  int  // of its execution, 0 if it was not executed
	Outputs []Output
	More    int               // outputs that are not in Outputs
	Images  map[string]Bundle // attachments that Markdown refers to, by name
	heading int               // level of a heading of format 3, which has its own kind of cell
}

// Output is one output of a code cell: a stream, an error, or a result in one or more types.
type Output struct {
	Stream string // "stdout", "stderr", or "" for others
	Error  bool   // Text is the traceback
	Text   string // of a stream or an error
	Cut    bool   // Text is only the start
	Number int    // of the execution whose value it is, 0 for none
	Bundle Bundle

	errName, errText string
}

// Bundle is one thing in several types.
type Bundle struct {
	Types  map[string]string // by media type, of known; images but SVG are base64
	Others []string          // media types that are not kept: unknown, or larger than their bound
}

// known are the types that are kept, and the names of format 3 for them.
var known = map[string]string{
	"text/plain": "text/plain", "text/html": "text/html", "text/markdown": "text/markdown", "text/latex": "text/latex",
	"image/png": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif", "image/svg+xml": "image/svg+xml",
	"text": "text/plain", "html": "text/html", "latex": "text/latex", "png": "image/png", "jpeg": "image/jpeg", "svg": "image/svg+xml",
}

// bound is the number of bytes that are kept of a type.
func bound(media string) int {
	switch media {
	case "text/html", "text/markdown":
		return htmlMax
	case "text/plain", "text/latex":
		return textMax
	}
	return imageMax
}
