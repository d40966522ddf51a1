package markup

import (
	"html"
	"strings"
	"testing"

	parse "golang.org/x/net/html"
)

func page() *Page {
	return &Page{Text: html.EscapeString, Image: func(source, _ string) string { return "(" + html.EscapeString(source) + ")" }, Region: func() string { return "r" }}
}

// TestMath: what is between dollars is no Markdown.
func TestMath(t *testing.T) {
	for source, want := range map[string]string{
		"a $x_1 * y_1 * z$ *b*":           "<p>a $x_1 * y_1 * z$ <em>b</em></p>",
		"$5 and *10* $":                   "<p>$5 and <em>10</em> $</p>",
		"costs $5, *or* $10":              "<p>costs $5, <em>or</em> $10</p>",
		"$$\na_1\n+ b_1\n= *c*\n$$\ntext": "<p>$$ a_1 + b_1 = *c* $$\ntext</p>",
		"\\begin{a}\n- x\\_y\n\\end{a}":   "<p>\\begin{a} - x\\_y \\end{a}</p>",
		"```\n$$\n+ a\n```":               "<pre><code>$$\n+ a\n</code></pre>",
		"$$ no end\n\n- *a*":              "<p>$$ no end</p>\n<ul><li><em>a</em></li></ul>",
		"$<b>$":                           "<p>$&lt;b&gt;$</p>",
		`\$a\$ *b*`:                       "<p>$a$ <em>b</em></p>",
	} {
		if got := page().Markdown(source); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

// TestHTML: what is kept has no attribute but those that this package gives it.
func TestHTML(t *testing.T) {
	for source, want := range map[string]string{
		`<h1 id=x class=y>A</h1><h3>B</h3>`: `<h4 class="m1">A</h4><h5 class="m3">B</h5>`,
		`<h3>A</h3>`:                        `<h4 class="m3">A</h4>`,
		`<a href="https://a.example/">t</a> <a href="#x">u</a> <a href=javascript:x>v`: `t <span class="away">&lt;https://a.example/&gt;</span> u v`,
		`<a href="https://a.example/?a=<b>">t</a>`:                                     `t <span class="away">&lt;https://a.example/?a=&lt;b&gt;&gt;</span>`,
		`<a href="https://a.example/">https://a.example/</a>`:                          `https://a.example/`,
		`<img src="a.png" onerror=x>`:                                                  `(a.png)`,
		`<table class=dataframe><thead><tr><th></th><th>a</th></tr></thead><tr><th>0</th><td colspan=2 style=x>1</td></tr><tr><th>alone</th></tr></table>`: `<div class="scroll" role="region" tabindex="0" aria-label="r"><table><thead><tr><td></td><th scope="col">a</th></tr>` + "\n" +
			`</thead><tbody><tr><th scope="row">0</th><td colspan="2">1</td></tr>` + "\n" + `<tr><td>alone</td></tr>` + "\n" + `</tbody></table></div>`,
		`<style>a</style><script>b</script><svg><path/></svg>`: ``,
		`<ul>a<li>b</ul>`: `<ul><li>a</li><li>b</li></ul>`,
	} {
		if got := page().HTML(source); got != want {
			t.Errorf("%q:\n%s, want\n%s", source, got, want)
		}
	}
}

// TestCost: Markdown that would take long is not rendered.
func TestCost(t *testing.T) {
	for _, source := range []string{strings.Repeat("[", 64<<10), strings.Repeat("> ", 100) + "x", "a|b\n-|-\n" + strings.Repeat("|", 2000) + strings.Repeat("\nx", 2000)} {
		p := page()
		for range 20 {
			p.Markdown(source)
		}
		if got := p.Markdown(source); got != "" {
			t.Errorf("%.20q is set: %.100q", source, got)
		}
	}
	if p := page(); p.Markdown(strings.Repeat(strings.Repeat("word *word* ", 50)+"\n\n", 100)) == "" || p.cost > costMax/10 {
		t.Errorf("an ordinary text costs %g", p.cost)
	}
}

// allowed are the elements that are written, with their attributes.
var allowed = map[string]string{
	"p": "", "strong": "", "em": "", "del": "", "sub": "", "sup": "", "code": "", "pre": "", "blockquote": "", "br": "", "hr": "", "ul": "", "ol": "", "li": "",
	"h4": "class", "h5": "class", "span": "class", "div": "class role tabindex aria-label", "table": "", "caption": "", "thead": "", "tbody": "", "tr": "",
	"th": "scope colspan rowspan", "td": "colspan rowspan",
}

func FuzzMarkup(f *testing.F) {
	for _, seed := range []string{"# a\n\n<b>x</b> [y](javascript:z) ![i](j)", "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;\">", "<svg><style><a id=\"</style><img src=1 onerror=alert(1)>\">", "| a |\n|---|\n| b |", "$$\na\n$$", "<noscript><p title=\"</noscript><img onerror=x>\">"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for _, made := range []string{page().Markdown(source), page().HTML(source)} {
			root, err := parse.Parse(strings.NewReader("<!DOCTYPE html><body>" + made))
			if err != nil {
				t.Fatal(err)
			}
			for n := range root.Descendants() {
				if n.Type != parse.ElementNode || n.Data == "html" || n.Data == "head" || n.Data == "body" {
					continue
				}
				attributes, known := allowed[n.Data]
				if !known {
					t.Fatalf("%q has <%s>: %q", source, n.Data, made)
				}
				for _, a := range n.Attr {
					if !strings.Contains(" "+attributes+" ", " "+a.Key+" ") {
						t.Fatalf("%q has <%s %s=%q>", source, n.Data, a.Key, a.Val)
					}
				}
			}
		}
	})
}
