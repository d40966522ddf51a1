package report

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The notebook of a hostile output has cells, of which some are shown.
const shownBook = "book"

// bookOf is a notebook of format 4 with cells of JSON.
func bookOf(cells ...string) string {
	return `{"cells":[` + strings.Join(cells, ",") + `],"metadata":{},"nbformat":4,"nbformat_minor":5}`
}

func quoted(text string) string {
	all, _ := json.Marshal(text) // a string can be encoded
	return string(all)
}

func proseCell(source string) string {
	return `{"cell_type":"markdown","source":` + quoted(source) + `}`
}

func outputCell(media, text string) string {
	return `{"cell_type":"code","execution_count":1,"source":"x","outputs":[{"output_type":"display_data","data":{"` + media + `":` + quoted(text) + `}}]}`
}

// hostileMarkup executes, loads, covers or forges something if it is not sanitised.
var hostileMarkup = map[string]string{
	"script":    `<p>x</p><script>alert(1)</script><script src="` + away + `x.js"></script>`,
	"handlers":  `<p onclick="alert(1)" onmouseover=alert(1)>x</p><img src=x onerror=alert(1)><body onload=alert(1)><details open ontoggle=alert(1)><summary>x</summary></details>`,
	"frames":    `x<iframe src="` + away + `"></iframe><iframe srcdoc="<script>alert(1)</script>"></iframe><object data="` + away + `"></object><embed src="` + away + `"><frameset><frame src="` + away + `"></frameset>`,
	"style":     `x<style>body{display:none}@import "` + away + `x.css";</style><link rel="stylesheet" href="` + away + `x.css"><div style="position:fixed;inset:0;background:url(` + away + `)">covers</div>`,
	"svg":       `x<svg onload="alert(1)" xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><image href="` + away + `x.png"/><a href="javascript:alert(1)"><text>y</text></a></svg>`,
	"links":     `<a href="javascript:alert(1)">a</a> <a href="data:text/html,<script>alert(1)</script>">b</a> <a href="` + away + `" target=_blank ping="` + away + `">c</a> <a href=" &#x6a;avascript:alert(1)">d</a> <a href="vbscript:x">e</a> <area href="` + away + `">`,
	"refresh":   `x<meta http-equiv="refresh" content="0;url=` + away + `"><base href="` + away + `"><title>forged</title>`,
	"forms":     `<form action="` + away + `" method=post><input name=password autofocus onfocus=alert(1)><button formaction="` + away + `">Go</button><textarea>t</textarea><select><option>o</select></form>`,
	"forged":    `<div class="failure state complete cell output" id="results">complete</div><section id="files"><h2 id="files-h">Files</h2></section></div></section></main></body><p class="state complete">complete</p>`,
	"mutation":  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
	"mutation2": `<noscript><p title="</noscript><img src=x onerror=alert(1)>">x`,
	"mutation3": `<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">x`,
	"mutation4": `<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>x`,
	"mutation5": `<template><script>alert(1)</script></template><xmp><img src=x onerror=alert(1)></xmp><plaintext><script>alert(1)</script>`,
	"comment":   `x<!--><img src=x onerror=alert(1)>--><![CDATA[<script>alert(1)</script>]]><?php x ?>`,
	"image":     `<img src="` + away + `x.png"><img src="//hostile.invalid/x.png"><img srcset="` + away + ` 2x"><picture><source srcset="` + away + `"></picture><video src="` + away + `" autoplay></video><audio src="` + away + `" autoplay></audio>`,
	"lies":      `<img src="data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte(svgHead+`<script>alert(1)</script></svg>`)) + `"><img src="data:text/html;base64,PHNjcmlwdD4="><img src="data:image/svg+xml,<svg onload=alert(1)>">`,
	"table":     `<table background="` + away + `"><tr><td colspan=999999999 rowspan=999999999 style="position:fixed">x<td><table><tr><td>y</table></table><td>z</td>`,
	"lists":     `<li>a<ul>text<p>b</ul><dl><dd>c</dl><h1></h1><h6>d</h6><h1>e</h1>`,
	"invisible": "a\u202eb\u200bc\x1b[2Jd&#x202e;f&#27;g",
	"deep":      strings.Repeat("<div>", 50_000) + "x",
	"deep-b":    strings.Repeat("<b><i><u>", 5_000) + "x",
	"tables":    strings.Repeat("<table><tr><td>", 20_000) + "x",
	"wide":      "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td>", 1000), 100) + "x</table>",
	"headings":  strings.Repeat("<h1>x</h1>", 40_000),
}

// hostileProse makes Markdown take long, or hides HTML in it.
var hostileProse = map[string]string{
	"brackets":  strings.Repeat("[", 60_000) + "x",
	"links":     strings.Repeat("[a](", 16_000) + "x",
	"stars":     strings.Repeat("*a_ ", 16_000),
	"quotes":    strings.Repeat(">", 60_000) + "x",
	"bullets":   strings.Repeat("- ", 30_000) + "x",
	"ticks":     "x" + strings.Repeat("`a``b```", 8_000),
	"dollars":   strings.Repeat("$a ", 20_000),
	"dollars-2": strings.Repeat("$$a\n", 16_000),
	"begins":    strings.Repeat(`\begin{a}`, 7_000),
	"tables":    "|a|\n|-|\n" + strings.Repeat("|", 60_000),
	"tables-2":  strings.Repeat("a|", 5_000) + "\n" + strings.Repeat("-|", 5_000) + "\n" + strings.Repeat("x\n", 10_000),
	"entities":  strings.Repeat("&#x202e;", 8_000),
	"html":      strings.Repeat("<a ", 20_000) + "x",
	"comments":  "x" + strings.Repeat("<!-", 20_000),
	"reference": "[a]: javascript:alert(1)\n[b]: <" + away + ">\n\n[a] [b] ![b] <javascript:alert(1)> <" + away + ">",
	"fenced":    "```x\" onload=\"alert(1)\n</code></pre><script>alert(1)</script>\n```",
	"math":      "$</p><script>alert(1)</script>$ $$<img src=x onerror=alert(1)>$$ \\begin{a}<svg onload=alert(1)>\\end{a}",
	"lines":     strings.Repeat("a\n\n", 30_000),
}

// hostileBooks are hostile notebooks.
func hostileBooks() []hostile {
	book := func(name, content, shown string) hostile {
		return hostile{name + ".ipynb", notebookType, content, shown}
	}
	var list []hostile
	for name, markup := range hostileMarkup {
		list = append(list, book("html-"+name, bookOf(outputCell("text/html", markup)), shownBook))
		if len(markup) < 2000 {
			list = append(list, book("prose-html-"+name, bookOf(proseCell(markup), proseCell("a\n\n"+markup+"\n\nb")), shownBook))
		}
	}
	for name, prose := range hostileProse {
		list = append(list, book("prose-"+name, bookOf(proseCell(prose)), shownBook))
	}
	lied := base64.StdEncoding.EncodeToString([]byte(`<html><script>alert(1)</script>`))
	return append(list,
		book("svg-script", bookOf(outputCell("image/svg+xml", `<svg onload="alert(1)"><script>alert(1)</script></svg>`)), shownBook),
		book("png-lies", bookOf(outputCell("image/png", lied)), shownBook),
		book("png-quote", bookOf(outputCell("image/png", `"><script>alert(1)</script>`)), shownBook),
		book("png-huge", bookOf(outputCell("image/png", base64.StdEncoding.EncodeToString([]byte(pngHeader(100_000, 100_000))))), shownBook),
		book("base64", bookOf(outputCell("image/png", strings.Repeat("A", 12<<20))), shownBook),
		book("javascript", bookOf(outputCell("application/javascript", "alert(1)")), shownBook),
		book("media", bookOf(outputCell(`text/html\"><script>alert(1)</script>`, "x")), shownBook),
		book("attachment", bookOf(`{"cell_type":"markdown","attachments":{"a\"><script>":{"image/png":"`+lied+`"}},"source":"![x](attachment:a%22%3E%3Cscript%3E) ![y](attachment:none)"}`), shownBook),
		book("escapes", bookOf(`{"cell_type":"code","source":"\u001b[2J\u202e</pre><script>alert(1)</script>","outputs":[{"output_type":"stream","name":"x\"><b>","text":["\u001b]8;;`+away+`\u0007link\u001b]8;;\u0007\u001b[31m</pre><script>alert(1)</script>\u001b[1;38;5;999;48;2;1m\u001b[`+strings.Repeat("1;", 10_000)+`m\u0000"]},{"output_type":"error","ename":"<b>","evalue":"<script>","traceback":["\u001b[8mhidden</pre><script>alert(1)</script>"]}]}`), shownBook),
		book("types", bookOf(`{"cell_type":7,"source":{"a":[1]},"outputs":{"x":[{}]},"execution_count":"<b>"}`, `null`, `[[]]`, `"x"`, `{"cell_type":"code","source":[1,["a"],null,"b"],"outputs":[1,null,[{}],{"data":[],"output_type":[],"execution_count":1e300},{"output_type":"stream","text":{"a":1}}]}`), shownBook),
		book("cells", `{"cells":[`+strings.Repeat(`{},`, 400_000)+`{}]}`, shownBook),
		book("outputs", bookOf(`{"cell_type":"code","source":"x","outputs":[`+strings.Repeat(`{},`, 400_000)+`{}]}`), shownBook),
		book("strings", bookOf(`{"cell_type":"code","source":[`+strings.Repeat(`"",`, 500_000)+`""]}`), shownBook),
		book("fields", bookOf(`{"cell_type":"code","source":"x","outputs":[{"data":{`+strings.Repeat(`"a":1,`, 200_000)+`"b":2}}]}`), shownBook),
		book("controls", bookOf(`{"cell_type":"code","source":"`+strings.Repeat(`\u0001a`, 1_000_000)+`"}`), shownBook),
		book("text", bookOf(strings.Split(strings.Repeat(`{"source":"`+strings.Repeat("x", 60_000)+"\"}\n", 200), "\n")[:200]...), shownBook),
		book("deep", `{"cells":[{"source":`+strings.Repeat("[", 1_000_000), "exceeded max depth"),
		book("no-cells", `{"a":1}`, "it is no notebook"),
		book("no-json", "<script>alert(1)</script>", "invalid character"),
		book("too-large", strings.Repeat(" ", notebookMax+1), "no more than 16MiB"),
	)
}

// notebookPageMax is the most that hostile notebooks make of a page, in bytes.
const notebookPageMax = 12 << 20

// checkBook checks that a page has only what the notebook of a hostile output may have.
func checkBook(t *testing.T, h hostile, root *html.Node) {
	t.Helper()
	part := section(t, root, "notebooks")
	text := content(part)
	cells := 0
	for n := range part.Descendants() {
		if attribute(n, "class") == "cell" {
			cells++
		}
	}
	if (h.shown == shownBook) != (cells > 0) {
		t.Errorf("%d cells: %.300q", cells, text)
	}
	if h.shown != shownBook && !strings.Contains(text, h.shown) {
		t.Errorf("want %q: %.300q", h.shown, text)
	}
	for n := range part.Descendants() {
		if class := attribute(n, "class"); n.Data == "div" && strings.Contains(class, "failure") {
			t.Errorf("a class was forged: %q", class)
		}
	}
}
