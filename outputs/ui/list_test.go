package ui

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

var (
	names = regexp.MustCompile(`<th scope="row"(?: class="id")?><a href="run\?id=[^"]*">([^<]*)</a>`)
	older = regexp.MustCompile(`<a href="\./([^"]*)" rel="next">`)
)

func namesOf(a answer) (all []string) {
	for _, m := range names.FindAllStringSubmatch(a.body, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestPages goes from page to page: each run is on one of them, the newest first, also if runs share a moment and if
// new ones are made in between.
func TestPages(t *testing.T) {
	h := newHome(t)
	var want []string
	for i := range 120 {
		id := fmt.Sprintf("run-%03d", i)
		h.begin(t, id, at(i/7), nil)
		want = append([]string{id + "@1"}, want...)
	}
	s := started(t, h)
	var got []string
	for next, pages := "", 0; ; pages++ {
		p := page(t, s, strings.ReplaceAll(next, "&amp;", "&"))
		got = append(got, namesOf(p)...)
		h.begin(t, fmt.Sprintf("new-%d", pages), at(59), nil)
		m := older.FindStringSubmatch(p.body)
		if m == nil || pages > 5 {
			break
		}
		next = m[1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have %q", got)
	}
}

func TestSearch(t *testing.T) {
	h := newHome(t)
	h.end(t, h.begin(t, "alpha", at(1), map[string]string{"p": "x"}), outcome.Complete)
	h.end(t, h.begin(t, "beta", at(2), map[string]string{"p": "y=z"}), outcome.Failed)
	h.begin(t, "gamma", at(3), nil)
	h.request = `{"script":"/home/x/fit.py","args":["--n","3"]}`
	h.begin(t, "zz", at(0), nil)
	s := started(t, h)
	for query, want := range map[string]string{
		"": "gamma@1 beta@1 alpha@1 zz@1", "text=fit.py+--n": "zz@1", "text=home": "", "text=a": "gamma@1 beta@1 alpha@1", "text=et": "beta@1", "text=%25": "", "state=failed": "beta@1", "state=running": "gamma@1 zz@1",
		"label=p%3Dx": "alpha@1", "label=p%3Dy%3Dz": "beta@1", "state=failed&label=p%3Dx": "", "text=&state=&label=": "gamma@1 beta@1 alpha@1 zz@1",
	} {
		got := page(t, s, "?"+query)
		if got.status != http.StatusOK || strings.Join(namesOf(got), " ") != want {
			t.Errorf("?%s: %q, want %q", query, namesOf(got), want)
		}
		if strings.Contains(want, "zz@1") && !strings.Contains(got.body, "<td><code>fit.py --n 3</code></td>") {
			t.Errorf("?%s does not say what ran", query)
		}
	}
}

// TestHostileWords: what others chose is text in every page.
func TestHostileWords(t *testing.T) {
	h := newHome(t)
	h.request = `{"command":["\"'><script>alert(1)</script>\u202e\u001b"]}`
	const markup = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b"
	h.begin(t, markup, at(1), map[string]string{markup: markup})
	h.end(t, h.begin(t, "done"+markup, at(2), map[string]string{markup: markup}), outcome.Failed, [2]string{markup, "x"})
	h.mu.Lock()
	h.log, h.going.State = markup, markup
	h.mu.Unlock()
	s := started(t, h)
	for _, run := range []string{markup, "done" + markup} {
		key := catalog.Key{ID: run, Attempt: 1}
		for _, name := range []string{"", "live", linkTo(key), "?text=" + strings.ReplaceAll(strings.ReplaceAll(markup, "\x1b", "%1b"), " ", "+")} {
			got := page(t, s, name)
			root, err := html.Parse(strings.NewReader(got.body))
			must(t, err)
			for n := range root.Descendants() {
				if n.Type == html.TextNode && strings.ContainsAny(n.Data, "\u202e\x1b") {
					t.Errorf("%q shows %q", name, n.Data)
				}
				if n.Type == html.ElementNode && (n.Data == "script" && len(n.Attr) == 0 || n.Data == "img") {
					t.Errorf("%q has <%s>", name, n.Data)
				}
				for _, a := range n.Attr {
					if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
						t.Errorf("%q has %s=%q", name, a.Key, a.Val)
					}
				}
			}
			if got.status != http.StatusOK {
				t.Errorf("%q: %s", name, got)
			}
		}
	}
}
