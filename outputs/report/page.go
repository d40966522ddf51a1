package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// How much of each kind a page has.
const (
	figuresShown   = 24
	tablesShown    = 8
	documentsShown = 8
	outputsShown   = 200
	rejectedShown  = 100
)

// page is the data of the page of a run.
type page struct {
	Title, Run, State, Ending, Message string
	Key                                facts // the most important facts
	Failure                            *failure
	Results                            results
	Request, Around, How               facts
	Inputs                             []inputRow
	Script                             *code
	Evidence, Warnings, Hints          []string
	Uses                               []use
	Curves                             []curve
	NoCurves                           string // why there are none
	Phases                             []phase
	Logs                               []log
	Outputs                            listing[outputRow]
	AllOutputs                         string // their URL on a site
	Rejected                           listing[result.Rejected]
	Audit                              listing[eventRow]
	AuditOff                           bool
}

// results are the outputs that can be shown.
type results struct {
	Books     []book
	Figures   []figure
	Tables    []table
	Documents []document
	Note      string
}

// Empty reports whether there is nothing to show but notebooks, which have a section of their own.
func (r results) Empty() bool {
	return len(r.Figures)+len(r.Tables)+len(r.Documents) == 0 && r.Note == ""
}

// failedBook reports whether the error of a notebook is shown.
func (r results) failedBook() bool {
	return slices.ContainsFunc(r.Books, func(b book) bool { return b.Error != "" })
}

// listing is the start of a list.
type listing[T any] struct {
	Rows []T
	More int64 // that are not in Rows
}

func list[T any](rows []T, most int, total int64) listing[T] {
	rows = rows[:min(len(rows), most)]
	return listing[T]{rows, max(total-int64(len(rows)), 0)}
}

// inputRow is an input in the list.
type inputRow struct {
	Source, Destination, What, SHA256, Size string

	Files int64
	Notes []string
}

// outputRow is an output in the list.
type outputRow struct {
	Path, Size, Type, SHA256 string
	Partial                  bool
	Link                     string // URL of its contents on a site
}

// eventRow is an audit event in the list.
type eventRow struct {
	At, Kind, Address, Severity, Verdict string
	Count                                int64
}

func newPage(r result.Result, blobs Blobs, links Links) page {
	p := page{
		Title: title(r), Run: r.Key().String(), State: string(r.State), Ending: ending(r), Message: r.Message, Key: key(r),
		Failure: newFailure(r, blobs), Results: newResults(r, blobs),
		Request: request(r), Inputs: inputRows(r.Inputs), Around: surroundings(r), How: how(r), Script: newCode(r.Script, blobs, links.Script()),
		Evidence: evidence(r), Warnings: r.Warnings, Hints: hints(r), Uses: newUses(r), Curves: newCurves(r), Phases: newPhases(r),
		Logs: []log{newLog("Standard output", r.Logs.Stdout, blobs, links.Stdout()), newLog("Standard error", r.Logs.Stderr, blobs, links.Stderr())},

		Outputs: list(outputRows(r, links), outputsShown, r.OutputsTotal), AllOutputs: links.Outputs(),
		Rejected: list(r.Rejected, rejectedShown, r.RejectedTotal),
		Audit:    list(eventRows(r.Audit), len(r.Audit), int64(r.AuditTotal)),
		AuditOff: r.Sandbox.Audit == "off",
	}
	if strings.EqualFold(path.Ext(analysisOf(r).Script), ".ipynb") && p.Results.failedBook() {
		p.Failure = nil // the cell has it, and the message
	}
	if len(p.Curves) == 0 {
		p.NoCurves = noCurves(r)
	}
	return p
}

// key is the top of the page.
func key(r result.Result) facts {
	var f facts
	f.add("Started", utc(r.StartedAt))
	if r.Measured() {
		f.add("Ran for", format.Duration(r.Usage.WallMS))
		f.add("CPU time", format.Duration(r.Usage.CPUMS))
		if r.Usage.MemoryPeakBytes > 0 {
			f.add("Memory, at most", format.Size(r.Usage.MemoryPeakBytes))
		}
	}
	f.add("Outputs", fmt.Sprint(r.OutputsTotal))
	if r.RejectedTotal > 0 {
		f.add("Rejected", fmt.Sprint(r.RejectedTotal))
	}
	return f
}

func noCurves(r result.Result) string {
	if r.Series == nil {
		return "There is no curve over time: of this run no samples are recorded."
	}
	return fmt.Sprintf("There is no curve over time: the run was over after %s.", format.Count(len(r.Series.TMS), "sample", "samples"))
}

// newResults shows the listed outputs. The recorded type selects the format, the contents decide what is shown.
func newResults(r result.Result, blobs Blobs) results {
	if r.OutputsRemovedAt != nil {
		return results{Note: "The contents of the outputs were removed by retention, at " + utc(r.OutputsRemovedAt) + ". The list below still has their digests."}
	}
	c := chooser{blobs: blobs, gallery: gallery{blobs: blobs}}
	c.books = newBookReader(&c.gallery)
	for _, o := range r.Outputs {
		c.take(o)
	}
	c.images()
	if c.left > 0 {
		c.Note = fmt.Sprintf("Of each kind the first are shown; there are %d more.", c.left)
	}
	return c.results
}

func inputRows(all []result.Input) []inputRow {
	var rows []inputRow
	for _, in := range all {
		row := inputRow{Source: in.Source, Destination: in.Destination, SHA256: given(in.SHA256), Files: in.Files, Size: format.Size(in.Bytes)}
		switch in.Digested {
		case "content":
			row.What = "all bytes"
		case "listing":
			row.What = "names, sizes and change times"
		default:
			row.What = "nothing"
		}
		if in.Changed {
			row.Notes = append(row.Notes, "Something in it was changed while the analysis ran, which may have read either.")
		}
		if in.Message != "" {
			row.Notes = append(row.Notes, in.Message)
		}
		rows = append(rows, row)
	}
	return rows
}

func outputRows(r result.Result, links Links) []outputRow {
	rows := make([]outputRow, 0, min(len(r.Outputs), outputsShown))
	for _, o := range r.Outputs[:min(len(r.Outputs), outputsShown)] {
		row := outputRow{Path: o.Path, Size: format.Size(o.Size), Type: o.MediaType, SHA256: o.SHA256, Partial: o.Partial}
		if r.OutputsRemovedAt == nil {
			row.Link = links.Output(o)
		}
		rows = append(rows, row)
	}
	return rows
}

func eventRows(all []result.AuditEvent) []eventRow {
	var rows []eventRow
	for _, e := range all {
		verdict := "seen"
		if e.Blocked {
			verdict = "refused"
		}
		rows = append(rows, eventRow{e.At.UTC().Format("15:04:05.000"), e.Kind, e.Address, e.Severity, verdict, e.Count})
	}
	return rows
}

// hints are the sentences of a run's hints.
func hints(r result.Result) (sentences []string) {
	for _, hint := range r.Hints {
		sentences = append(sentences, hint.Message)
	}
	return sentences
}
