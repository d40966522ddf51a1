package report

import (
	"html/template"
	"io"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Site is a web application that pages are a part of. Its server says what a browser may do, by the policy of a header, in
// which StyleDigest allows the style: such a page has no policy of its own.
type Site struct {
	// Templates are *.html of the application. They may use those of pages (head, name, text, facts) and define anew what is
	// empty in a page that stands alone: "top", of which Top is the content, and "tools", of which Tools is.
	Templates  fs.FS
	Top, Tools any
	// Style comes after that of pages.
	Style string
	// Script is the address of a script, if there is one.
	Script string
	// Links are where it has what is kept of the run that a page is about.
	Links Links
}

// Links are addresses of what is kept of one run, whole; an empty one: it is not to be had.
type Links interface {
	Output(result.Output) string
	Outputs() string // a page of all
	Stdout() string
	Stderr() string
	Script() string
}

// none are the links of a page that stands alone.
type none struct{}

func (none) Output(result.Output) string { return "" }
func (none) Outputs() string             { return "" }
func (none) Stdout() string              { return "" }
func (none) Stderr() string              { return "" }
func (none) Script() string              { return "" }

// StyleDigest is the style of all pages as a policy names it.
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

// Compare is that of the package for a page of the application.
func (s Site) Compare(w io.Writer, a, b result.Result, blobs Blobs) error {
	return s.Page(w, "against.html", newComparison(a, b, blobs))
}
