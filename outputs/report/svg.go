package report

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// A browser executes no script of an SVG image and loads nothing for it (SVG 2, "secure static mode"). But a reader may
// open the image by itself, and then that does not hold, and a small file may make a browser draw for days. So an SVG
// file is embedded only if all of it is known to be harmless. It is never changed: a refused one is named, with the
// reason.

const (
	svgElements = 50_000  // elements of a file
	svgDrawn    = 200_000 // elements drawn by reference, in total
	svgDepth    = 200
)

// drawing are the elements of SVG that draw or describe, not those that script, link, animate, filter or embed.
var drawing = strings.Fields(`svg g defs symbol use title desc metadata style path rect circle ellipse line polyline polygon
	text tspan textPath image clipPath mask pattern marker linearGradient radialGradient stop`)

// describing are the namespaces of metadata that programs write into a drawing. Browsers ignore them.
var describing = []string{
	"http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://creativecommons.org/ns#", "http://web.resource.org/cc/",
	"http://purl.org/dc/elements/1.1/", "http://www.inkscape.org/namespaces/inkscape",
	"http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
}

const (
	svgSpace   = "http://www.w3.org/2000/svg"
	xlinkSpace = "http://www.w3.org/1999/xlink"

	styleElement = "style"
)

// checkSVG returns why an SVG file is not embedded.
func checkSVG(content []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(content))
	c := svgCheck{named: map[string]svgElement{}}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return fmt.Errorf("it is no SVG (%w)", err)
		}
		if err := c.take(token); err != nil {
			return err
		}
	}
}

// svgCheck is the state of a check up to an element.
type svgCheck struct {
	open       []svgElement
	count      int
	named      map[string]svgElement // by id
	references []svgReference
}

// svgElement is an element, or the part of the file between its ends, counted in elements.
type svgElement struct {
	name, id    string
	first, last int
	css         []byte // the text of a style
}

// svgReference draws another element instead of one.
type svgReference struct {
	number int // of the element that it is in
	id     string
}

func (c *svgCheck) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return c.start(t)
	case xml.EndElement:
		last := c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		if last.id != "" {
			last.last = c.count
			c.named[last.id] = last
		}
		return checkStyle(string(last.css))
	case xml.CharData:
		if n := len(c.open); n > 0 && c.open[n-1].name == styleElement {
			c.open[n-1].css = append(c.open[n-1].css, t...) // browsers join text around comments and CDATA
		}
	case xml.ProcInst:
		if t.Target != "xml" {
			return fmt.Errorf("it has an instruction <?%s", visible(format.Cut(t.Target, 20)))
		}
	case xml.Directive:
		if bytes.ContainsAny(t, "[%") {
			return errors.New("it declares entities")
		}
	}
	return nil
}

func (c *svgCheck) start(t xml.StartElement) error {
	c.count++
	switch name := visible(format.Cut(t.Name.Local, 20)); {
	case len(c.open) == 0 && (t.Name.Local != "svg" || t.Name.Space != svgSpace || c.count > 1):
		return errNoImage
	case c.count > svgElements || len(c.open) >= svgDepth:
		return fmt.Errorf("it has more than %d elements, or too many in one another", svgElements)
	case t.Name.Space == svgSpace && !slices.Contains(drawing, t.Name.Local):
		return fmt.Errorf("it has an element <%s>", name)
	case t.Name.Space != svgSpace && !slices.Contains(describing, t.Name.Space):
		return fmt.Errorf("it has an element <%s> that is not SVG's", name)
	case len(c.open) > 0 && c.open[len(c.open)-1].name == styleElement:
		return fmt.Errorf("it has an element <%s> in a style", name)
	}
	e := svgElement{name: t.Name.Local, first: c.count}
	for _, a := range t.Attr {
		if err := c.attribute(e, a); err != nil {
			return err
		}
		if a.Name.Local == "id" && a.Name.Space == "" {
			e.id = a.Value
		}
	}
	if _, twice := c.named[e.id]; twice {
		return errors.New("two of its elements have one id")
	}
	if e.id != "" {
		c.named[e.id] = e
	}
	c.open = append(c.open, e)
	return nil
}

func (c *svgCheck) attribute(e svgElement, a xml.Attr) error {
	name := strings.ToLower(a.Name.Local)
	switch {
	case a.Name.Space == "xmlns" || a.Name.Space == "" && name == "xmlns":
		return nil // a namespace name, which nothing loads
	case slices.Contains(describing, a.Name.Space):
		return nil
	case strings.HasPrefix(name, "on"):
		return fmt.Errorf("it has a script, in the attribute %s", visible(format.Cut(a.Name.Local, 20)))
	case name == "base" || name == "src":
		return fmt.Errorf("it has an attribute %s", name)
	case name == "href":
		return c.href(e, a.Value)
	}
	if err := checkCSS(a.Value); err != nil {
		return err
	}
	for rest := a.Value; ; {
		_, after, found := strings.Cut(rest, "url(#")
		if !found {
			return nil
		}
		id, _, _ := strings.Cut(after, ")")
		c.references = append(c.references, svgReference{e.first, id})
		rest = after
	}
}

// href is a reference within the file, or an image in it.
func (c *svgCheck) href(e svgElement, value string) error {
	if id, within := strings.CutPrefix(value, "#"); within {
		c.references = append(c.references, svgReference{e.first, id})
		return nil
	}
	media, encoded, _ := strings.Cut(value, ";base64,")
	if e.name == "image" && strings.HasPrefix(media, "data:image/") {
		content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
		if err != nil {
			return fmt.Errorf("it has an image in it that cannot be read (%w)", err)
		}
		if found, _, _, err := raster(content); err != nil || "data:"+found != media {
			return errors.New("it has an image in it that is not what it says")
		}
		return nil
	}
	return errors.New("it refers to something outside of it")
}

// checkStyle is checkCSS of a style sheet. What its rules draw by reference cannot be counted here.
func checkStyle(text string) error {
	if err := checkCSS(text); err != nil {
		return err
	}
	if strings.Contains(strings.ToLower(text), "url(") {
		return errors.New("it refers to something in a style sheet")
	}
	return nil
}

// checkCSS refuses constructs that load something or could hide that.
func checkCSS(text string) error {
	low := strings.ToLower(text)
	for _, word := range []string{"@", `\`, "//", "image-set(", "src(", "image(", "cross-fade(", "element("} {
		if strings.Contains(low, word) {
			return fmt.Errorf("it has %q in a style or an attribute", word)
		}
	}
	for rest := low; ; {
		_, after, found := strings.Cut(rest, "url(")
		if !found {
			return nil
		}
		if !strings.HasPrefix(after, "#") {
			return errors.New("it refers to something outside of it")
		}
		rest = after
	}
}

// end checks what references draw: nested references multiply with every level.
func (c *svgCheck) end() error {
	if c.count == 0 {
		return errNoImage
	}
	drawn := 0
	drawing := slices.DeleteFunc(slices.Clone(c.references), func(r svgReference) bool { return !c.draws(r) })
	for _, r := range drawing {
		target := c.named[r.id]
		drawn += target.last - target.first + 1
		// They are sorted by their elements.
		next, _ := slices.BinarySearchFunc(drawing, target.first, func(r svgReference, n int) int { return r.number - n })
		if next < len(drawing) && drawing[next].number <= target.last {
			return errors.New("what it draws by reference has references too")
		}
	}
	if drawn > svgDrawn {
		return fmt.Errorf("it draws more than %d elements by reference", svgDrawn)
	}
	return nil
}

// draws reports whether a reference draws an element. Gradients only give colours.
func (c *svgCheck) draws(r svgReference) bool {
	target, known := c.named[r.id]
	return known && !strings.HasSuffix(target.name, "Gradient")
}
