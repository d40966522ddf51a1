package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// known are the elements of a page and their attributes, and no others.
var known = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "",
	"header": "", "main": "id", "nav": "aria-label", "section": "id aria-labelledby",
	"h1": "", "h2": "id", "h3": "", "h4": "class", "h5": "class", "p": "class", "span": "class", "strong": "", "b": "", "i": "", "code": "class", "pre": "class",
	"em": "", "del": "", "sub": "", "sup": "", "blockquote": "", "br": "", "hr": "",
	"ul": "class", "ol": "class", "li": "", "dl": "", "dt": "", "dd": "", "div": "class id role tabindex aria-label",
	"table": "", "caption": "", "thead": "", "tbody": "", "tr": "class", "th": "scope class colspan rowspan", "td": "class title colspan rowspan",
	"a": "href", "figure": "class", "figcaption": "", "img": "src alt width height class loading decoding",
	"svg": "viewbox role aria-label aria-hidden class preserveaspectratio", "rect": "class x width height",
	"path": "class d", "text": "x y dy text-anchor",
}

// inspect parses a page as a browser does and checks that it has only what a page may have.
func inspect(t *testing.T, page []byte) *html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	must(t, err)
	for _, r := range string(page) {
		if r != '\n' && r != '\t' && !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			t.Errorf("the page has the character %U", r)
		}
	}
	i := inspector{t: t, ids: map[string]bool{}}
	for n := range root.Descendants() {
		i.look(n)
	}
	i.end()
	return root
}

type inspector struct {
	t       *testing.T
	ids     map[string]bool
	links   []string
	heading int
	policy  string
	styles  []string
}

func (i *inspector) look(n *html.Node) {
	if n.Type == html.CommentNode {
		i.t.Errorf("the page has a comment: %q", n.Data)
	}
	if n.Type != html.ElementNode {
		return
	}
	name := strings.ToLower(n.Data)
	allowed, ok := known[name]
	if !ok {
		i.t.Errorf("the page has an element <%s>", n.Data)
	}
	for _, a := range n.Attr {
		if !slices.Contains(strings.Fields(allowed), strings.ToLower(a.Key)) {
			i.t.Errorf("<%s> has an attribute %s=%q", n.Data, a.Key, a.Val)
		}
	}
	i.element(n, name)
}

func (i *inspector) element(n *html.Node, name string) {
	if id := attribute(n, "id"); id != "" {
		if i.ids[id] {
			i.t.Errorf("two elements have the id %q", id)
		}
		i.ids[id] = true
	}
	switch name {
	case "a":
		i.links = append(i.links, attribute(n, "href"))
	case "img":
		i.image(n)
	case "style":
		i.styles = append(i.styles, content(n))
	case "meta":
		if attribute(n, "http-equiv") == "Content-Security-Policy" {
			i.policy = attribute(n, "content")
		} else if attribute(n, "http-equiv") != "" {
			i.t.Errorf("<meta http-equiv=%q>", attribute(n, "http-equiv"))
		}
	case "th":
		if attribute(n, "scope") == "" {
			i.t.Error("a <th> has no scope")
		}
	case "svg":
		if attribute(n, "aria-hidden") != "true" && attribute(n, "aria-label") == "" {
			i.t.Error("an <svg> says nothing to those who do not see it")
		}
	case "h1", "h2", "h3", "h4", "h5":
		level := int(name[1] - '0')
		if level > i.heading+1 {
			i.t.Errorf("<%s> %q follows a heading of level %d", name, content(n), i.heading)
		}
		i.heading = level
	}
}

func (i *inspector) image(n *html.Node) {
	if attribute(n, "alt") == "" {
		i.t.Error("an image has no text in its place")
	}
	media, encoded, _ := strings.Cut(attribute(n, "src"), ";base64,")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		i.t.Errorf("src %.60q: %v", attribute(n, "src"), err)
	}
	for prefix, begin := range map[string]string{"data:image/png": "\x89PNG\r\n\x1a\n", "data:image/jpeg": "\xff\xd8\xff", "data:image/gif": "GIF8", "data:image/svg+xml": "<"} {
		if media == prefix && bytes.HasPrefix(bytes.TrimSpace(raw), []byte(begin)) {
			return
		}
	}
	i.t.Errorf("an image of the type %q begins with %.20q", media, raw)
}

func (i *inspector) end() {
	for _, link := range i.links {
		if !strings.HasPrefix(link, "#") || !i.ids[link[1:]] {
			i.t.Errorf("a link leads to %q", link)
		}
	}
	if len(i.styles) != 1 {
		i.t.Fatalf("%d styles", len(i.styles))
	}
	sum := sha256.Sum256([]byte(i.styles[0]))
	want := fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
	if i.policy != want {
		i.t.Errorf("the policy is %q, want %q", i.policy, want)
	}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// content is the text of an element.
func content(n *html.Node) string {
	var b strings.Builder
	for below := range n.Descendants() {
		if below.Type == html.TextNode {
			b.WriteString(below.Data)
		}
	}
	return b.String()
}

// all are the elements of one name.
func all(root *html.Node, a atom.Atom) []*html.Node {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == a {
			found = append(found, n)
		}
	}
	return found
}

// section is the part of a page with an id.
func section(t *testing.T, root *html.Node, id string) *html.Node {
	t.Helper()
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && attribute(n, "id") == id {
			return n
		}
	}
	t.Fatalf("the page has no part %q", id)
	return nil
}

// rendered is the page of a run.
func rendered(t *testing.T, run result.Result, blobs Blobs) []byte {
	t.Helper()
	var page bytes.Buffer
	must(t, Write(&page, run, blobs))
	return page.Bytes()
}
