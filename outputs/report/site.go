package report

import (
	"html/template"
	"io"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Site is a web application that pages are a part of. Its server sends the policy as a header, in which StyleDigest allows
// the style: such a page has no policy of its own.
type Site struct {
	// Templates are *.html of the application. They may use those of pages (head, name, text, facts) and redefine those that
	// are empty in a standalone page: "top", with the data Top, and "tools", with Tools.
	Templates  fs.FS
	Top, Tools any
	// Style follows that of pages.
	Style string
	// Script is the URL of a script, if any.
	Script string
	// Links are the URLs of the stored files of the page's run.
	Links Links
}

// Links are complete URLs of the stored files of a run; empty if not available.
type Links interface {
	Output(result.Output) string
	Outputs() string // a page of all
	Stdout() string
	Stderr() string
	Script() string
}

// none are the links of a standalone page.
type none struct{}

func (none) Output(result.Output) string { return "" }
func (none) Outputs() string             { return "" }
func (none) Stdout() string              { return "" }
func (none) Stderr() string              { return "" }
func (none) Script() string              { return "" }

// StyleDigest is the hash of all pages' style in a policy.
func (s Site) StyleDigest() (string, error) {
	style, err := s.style()
	return digestOf(style), err
}

func (s Site) style() (string, error) {
	style, err := newStyle()
	return style + "\n" + s.Style, err
}

// Page writes a page of the application.
func (s Site) Page(w io.Writer, name string, content any) error {
	style, err := s.style()
	if err != nil {
		return err
	}
	return write(w, name, content, s.Templates, func() sheet {
		return sheet{Style: template.CSS(style), Script: s.Script, Top: s.Top, Tools: s.Tools} //nolint:gosec // the application's own
	})
}

// Run is Write for a page of the application.
func (s Site) Run(w io.Writer, run result.Result, blobs Blobs) error {
	return s.Page(w, "run.html", newPage(run, blobs, s.Links))
}

// Compare is the package's for a page of the application.
func (s Site) Compare(w io.Writer, a, b result.Result, blobs Blobs) error {
	return s.Page(w, "against.html", newComparison(a, b, blobs))
}
