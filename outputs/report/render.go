package report

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

//go:embed *.html page.css
var files embed.FS

// sheet is the style of every page, and the policy that forbids the browser all else but embedded images. For a page of a
// site, its server sets the policy.
type sheet struct {
	Style      template.CSS
	Policy     string
	Script     string
	Top, Tools any
}

func newSheet() (sheet, error) {
	style, err := newStyle()
	return sheet{
		Style:  template.CSS(style), //nolint:gosec // built in
		Policy: "default-src 'none'; style-src " + digestOf(style) + "; img-src data:; base-uri 'none'; form-action 'none'",
	}, err
}

func newStyle() (string, error) {
	css, err := files.ReadFile("page.css")
	return strings.TrimSpace(string(css)), err
}

// digestOf is a text's hash in a policy (https://www.w3.org/TR/CSP3/#grammardef-hash-source).
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// render writes a page. No part of its data is trusted: html/template escapes it by context.
func render(w io.Writer, name string, content any) error {
	s, err := newSheet()
	if err != nil {
		return err
	}
	return write(w, name, content, nil, func() sheet { return s })
}

// write makes a page of the templates here, and of more if given.
func write(w io.Writer, name string, content any, more fs.FS, sheet func() sheet) error {
	page, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{
		"text":  func(s string) []Piece { return pieces(s, true) },
		"name":  func(s string) []Piece { return pieces(s, false) },
		"plain": visible,
		"short": format.ShortDigest,
		"size":  format.Size,
		"span":  format.Duration,
		"asked": request,
		"utc":   func(t time.Time) string { return utc(&t) },
		"sheet": sheet,
	}).ParseFS(files, "*.html")
	if err != nil {
		return err
	}
	if more != nil {
		if page, err = page.ParseFS(more, "*.html"); err != nil {
			return err
		}
	}
	to := bufio.NewWriter(w)
	if err := page.Execute(to, content); err != nil {
		return err
	}
	return to.Flush()
}
