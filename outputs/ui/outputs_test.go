package ui

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

var (
	nextLink = regexp.MustCompile(`href="([^"]*)" rel="next"`)
	fileLink = regexp.MustCompile(`<a href="(/[^"]*/download[^"]*)"`)
)

// TestOutputs: all outputs of a run are on pages, each once, and can be downloaded from there.
func TestOutputs(t *testing.T) {
	h := newHome(t)
	run := h.begin(t, "many", at(1), nil)
	var files [][2]string
	for i := range 2*outputsListed + 50 {
		files = append(files, [2]string{fmt.Sprintf("dir/%d&<b>\xff\n", i), fmt.Sprint("contents ", i)})
	}
	h.end(t, run, outcome.Complete, files...)
	s := started(t, h)
	if body := page(t, s, "run?id=many").body; !strings.Contains(body, `href="outputs?id=many%401"`) {
		t.Error("the page of the run has no link")
	}
	var got []string
	pages := 0
	for address := "outputs?id=many"; address != ""; pages++ {
		body := page(t, s, address).body
		if strings.Contains(body, "<b>") || strings.Contains(body, ">First<") != (pages > 0) {
			t.Errorf("%s: %s", address, body)
		}
		for _, link := range fileLink.FindAllStringSubmatch(body, -1) {
			got = append(got, ask(t, s, http.MethodGet, html.UnescapeString(link[1]), "").body)
		}
		address = ""
		if next := nextLink.FindStringSubmatch(body); next != nil {
			address = html.UnescapeString(next[1])
		}
	}
	slices.Sort(got)
	if n := len(files); pages != 3 || len(got) != n || len(slices.Compact(got)) != n {
		t.Errorf("%d files on %d pages, want %d on 3", len(got), pages, len(files))
	}
	if body := page(t, s, "outputs?id=many&after=zzz").body; !strings.Contains(body, "There are no more.") {
		t.Errorf("after the last: %s", body)
	}
	must(t, h.DropOutputs(t.Context(), run.Key, at(3)))
	if body := page(t, s, "outputs?id=many").body; fileLink.MatchString(body) || !strings.Contains(body, "removed by retention") {
		t.Errorf("where they are gone: %s", body)
	}
	if got := page(t, s, "outputs?id=none"); got.status != http.StatusNotFound {
		t.Errorf("of no run: %s", got)
	}
}
