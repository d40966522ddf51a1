package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// What is shown of two runs.
const (
	differencesShown = 8       // texts
	differenceRead   = 1 << 20 // bytes of each
	differenceMax    = 200     // characters of a line
)

// Compare writes a page that compares two runs: their requests, environments, usage and outputs. An error is that of w.
func Compare(w io.Writer, a, b result.Result, blobs Blobs) error {
	return render(w, "against.html", newComparison(a, b, blobs))
}

// comparison is the data of the page of two runs.
type comparison struct {
	Title       string
	A, B        side
	Request     pairing // what differs
	Around      pairing
	Use         pairing
	Files       listing[filePair]
	Counts      string
	Note        string // if the lists are incomplete
	Differences []difference
}

// side is the heading of one run.
type side struct{ Name, Ran, State, Ending string }

func newSide(r result.Result) side {
	return side{r.Key().String(), result.Ran(r.Analysis), string(r.State), ending(r)}
}

// pairing is a table of both runs.
type pairing struct {
	Title string
	Rows  []pair
}

// pair is one property of both runs, or of one.
type pair struct {
	Name, A, B string
	Same       bool
}

// filePair is one path among the outputs of the two.
type filePair struct {
	Path, Verdict, A, B string
	Class               string
	rank                int
	a, b                result.Output
}

// difference is the first line at which the texts of one path differ.
type difference struct {
	Path string
	Line int // from 1
	A, B string
	Why  string // why they could not be compared
}

func newComparison(a, b result.Result, blobs Blobs) comparison {
	files := pairFiles(a.Outputs, b.Outputs)
	c := comparison{
		Title: a.Key().String() + " and " + b.Key().String(),
		A:     newSide(a), B: newSide(b),
		Request: pairing{"Asked for", different(requested(a), requested(b))},
		Around:  pairing{"Ran in", different(named(surroundings(a)), named(surroundings(b)))},
		Use:     pairing{"Use", usePairs(a, b)},
		Files:   list(files, outputsShown, int64(len(files))),
		Counts:  counts(files),
	}
	if a.OutputsTotal > int64(len(a.Outputs)) || b.OutputsTotal > int64(len(b.Outputs)) {
		c.Note = fmt.Sprintf("Compared are the first %d and %d outputs, of %d and %d.", len(a.Outputs), len(b.Outputs), a.OutputsTotal, b.OutputsTotal)
	}
	if a.Script != nil && b.Script != nil && a.Script.SHA256 != b.Script.SHA256 {
		c.Differences = append(c.Differences, firstDifference("the script "+b.Script.Name, a.Script.SHA256, b.Script.SHA256, blobs))
	}
	for _, f := range files {
		if f.rank == changed && (separator(f.a.MediaType) != 0 || textual(f.a.MediaType)) && len(c.Differences) < differencesShown &&
			a.OutputsRemovedAt == nil && b.OutputsRemovedAt == nil {
			c.Differences = append(c.Differences, firstDifference(f.Path, f.a.SHA256, f.b.SHA256, blobs))
		}
	}
	return c
}

// requested is each field of the recorded request.
func requested(r result.Result) map[string]string {
	var fields map[string]json.RawMessage
	values := map[string]string{}
	if json.Unmarshal(r.Analysis, &fields) != nil {
		return values // not an object
	}
	for name, value := range fields {
		if name != "id" {
			values[name] = amount(name, string(value))
		}
	}
	if r.Script != nil {
		values["script, sha256"] = r.Script.SHA256
	}
	if r.Stdin != nil {
		values["standard input, sha256"] = r.Stdin.SHA256
	}
	return values
}

func named(f facts) map[string]string {
	values := map[string]string{}
	for _, one := range f {
		values[one.Name] = one.Value
	}
	return values
}

// different are the fields that differ, by name.
func different(a, b map[string]string) []pair {
	names := maps.Clone(a)
	maps.Copy(names, b)
	var all []pair
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a[name] != b[name] {
			all = append(all, pair{Name: name, A: a[name], B: b[name]})
		}
	}
	return all
}

func usePairs(a, b result.Result) []pair {
	var all []pair
	for _, one := range []struct {
		name string
		of   func(result.Result) string
	}{
		{"ending", ending},
		{"time", func(r result.Result) string { return format.Duration(r.Usage.WallMS) }},
		{"CPU time", func(r result.Result) string { return format.Duration(r.Usage.CPUMS) }},
		{"memory, at most", func(r result.Result) string { return format.Size(r.Usage.MemoryPeakBytes) }},
		{"processes, at most", func(r result.Result) string { return fmt.Sprint(r.Usage.PidsPeak) }},
		{"size of /work, at most", func(r result.Result) string { return format.Size(r.Usage.WorkBytes) }},
		{"outputs", func(r result.Result) string { return fmt.Sprint(r.OutputsTotal) }},
		{"rejected", func(r result.Result) string { return fmt.Sprint(r.RejectedTotal) }},
	} {
		x, y := one.of(a), one.of(b)
		all = append(all, pair{one.name, x, y, x == y})
	}
	return all
}

// The verdicts on a path, in listing order.
const (
	changed = iota
	onlyA
	onlyB
	same
)

// pairFiles compares both lists, which are sorted by path, and puts differences first.
func pairFiles(a, b []result.Output) []filePair {
	var all []filePair
	theirs := map[string]result.Output{}
	for _, o := range b {
		theirs[o.Path] = o
	}
	for _, o := range a {
		other, both := theirs[o.Path]
		delete(theirs, o.Path)
		switch {
		case !both:
			all = append(all, filePair{Path: o.Path, Verdict: "only in the first", Class: "only", A: format.Size(o.Size), rank: onlyA})
		case o.SHA256 == other.SHA256:
			all = append(all, filePair{Path: o.Path, Verdict: "same", Class: "same", A: format.Size(o.Size), B: format.Size(other.Size), rank: same})
		default:
			all = append(all, filePair{Path: o.Path, Verdict: "changed", Class: "changed", A: format.Size(o.Size), B: format.Size(other.Size), rank: changed, a: o, b: other})
		}
	}
	for _, o := range b {
		if _, left := theirs[o.Path]; left {
			all = append(all, filePair{Path: o.Path, Verdict: "only in the second", Class: "only", B: format.Size(o.Size), rank: onlyB})
		}
	}
	slices.SortStableFunc(all, func(x, y filePair) int { return x.rank - y.rank })
	return all
}

func counts(files []filePair) string {
	var n [4]int
	for _, f := range files {
		n[f.rank]++
	}
	return fmt.Sprintf("%d the same, %d changed, %d only in the first, %d only in the second.", n[same], n[changed], n[onlyA], n[onlyB])
}

// firstDifference reads two texts up to the first line that differs.
func firstDifference(path, a, b string, blobs Blobs) difference {
	d := difference{Path: path}
	first, err := beginning(blobs, a)
	if err == nil {
		var second []byte
		if second, err = beginning(blobs, b); err == nil {
			d.find(first, second)
			return d
		}
	}
	d.Why = unread(err)
	return d
}

func beginning(blobs Blobs, sha256 string) ([]byte, error) {
	if sha256 == "" {
		return nil, nil // an empty script has no blob
	}
	return start(blobs, sha256, differenceRead)
}

func (d *difference) find(a, b []byte) {
	x, y := bufio.NewReader(bytes.NewReader(a)), bufio.NewReader(bytes.NewReader(b))
	for d.Line = 1; ; d.Line++ {
		one, endA := x.ReadString('\n')
		other, endB := y.ReadString('\n')
		if one != other {
			d.A, d.B = shownLine(one), shownLine(other)
			if strings.TrimSuffix(one, "\n") == strings.TrimSuffix(other, "\n") && one+other != "\n" {
				d.Why = "Only one of them has a newline at its end."
			}
			return
		}
		if endA != nil && endB != nil {
			d.Why = fmt.Sprintf("They are the same in the first %s.", format.Size(differenceRead))
			return
		}
	}
}

// shownLine is a line without its end, unless it has nothing else.
func shownLine(text string) string {
	if text == "" {
		return "(no such line)"
	}
	return format.Cut(strings.TrimSuffix(text, "\n"), differenceMax)
}
