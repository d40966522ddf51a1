package stats_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/stats"
)

// drawn makes a chart of so many groups, and holds it to be well-formed.
func drawn(t *testing.T, name string, groups ...stats.Group) string {
	t.Helper()
	c := stats.Chart{Title: "a & b", Groups: groups}
	for range groups {
		c.Names = append(c.Names, name)
	}
	svg := c.SVG()
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	if bad := regexp.MustCompile(`NaN|Inf|e[+-][0-9]`).FindString(string(svg)); bad != "" {
		t.Errorf("the chart has the number %s", bad)
	}
	return string(svg)
}

func TestChart(t *testing.T) {
	var c stats.Collector
	for i := range int64(100) {
		c.Add(run(1+i, 10+i))
	}
	group := c.Groups(stats.DefaultRules())[0]
	svg := drawn(t, "project=brain", group)
	for what, want := range map[string]int{`class="box"`: 3, `class="asked"`: 3, `class="limit"`: 3, ">project=brain<": 3, "prefers-color-scheme: dark": 1} {
		if got := strings.Count(svg, what); got != want {
			t.Errorf("%d times %s, want %d", got, what, want)
		}
	}
}

// The chart is well-formed for any group.
func TestChartOfAnything(t *testing.T) {
	var c stats.Collector
	c.Add(run(1, 0))
	c.Add(of("same", run(7, 64)))
	c.Add(of("huge", run(1<<40, 1<<40)))
	groups := c.Groups(stats.DefaultRules())
	tests := []struct {
		name   string
		groups []stats.Group
		want   string
	}{
		{"nothing", nil, "a &amp; b"},
		{"nothing measured", []stats.Group{{}}, `class="grid"`},
		{"one", groups[:1], `class="box"`},
		{"all", groups, `class="box"`},
		{"</text><script>\x00\x1b[31m\xff", groups, "&lt;/text&gt;"},
		{strings.Repeat("ä", 1000), groups, "…"},
		{"many", make([]stats.Group, 1000), "960 more groups are not drawn"},
	}
	for _, tt := range tests {
		t.Run(shown(tt.name), func(t *testing.T) {
			if svg := drawn(t, tt.name, tt.groups...); !strings.Contains(svg, tt.want) || strings.Contains(svg, "<script") {
				t.Errorf("no %q in %d bytes, or a script", tt.want, len(svg))
			}
		})
	}
}

func shown(name string) string { return name[:min(len(name), 20)] }
