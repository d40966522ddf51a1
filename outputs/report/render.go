package report

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
)

//go:embed *.html page.css
var files embed.FS

// sheet is the style of every page, and what the page forbids a browser: all but this very style and images that it
// carries itself.
type sheet struct {
	Style  template.CSS
	Policy string
}

func newSheet() (sheet, error) {
	css, err := files.ReadFile("page.css")
	if err != nil {
		return sheet{}, err
	}
	style := strings.TrimSpace(string(css))
	sum := sha256.Sum256([]byte(style))
	return sheet{
		Style:  template.CSS(style), //nolint:gosec // ours
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'",
	}, nil
}

// render writes a page. No part of what it tells is trusted: html/template escapes it by where it stands.
func render(w io.Writer, name string, content any) error {
	s, err := newSheet()
	if err != nil {
		return err
	}
	page, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{
		"text":  func(s string) []piece { return pieces(s, true) },
		"name":  func(s string) []piece { return pieces(s, false) },
		"plain": visible,
		"short": short,
		"sheet": func() sheet { return s },
	}).ParseFS(files, "*.html")
	if err != nil {
		return err
	}
	to := bufio.NewWriter(w)
	if err := page.Execute(to, content); err != nil {
		return err
	}
	return to.Flush()
}
