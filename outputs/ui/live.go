package ui

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/report"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// activeShown is the maximum number of active runs shown.
const activeShown = 100

// board is the data of a page, or of an event, about all active runs.
type board struct {
	Count string      `json:"count"`
	Runs  []activeRun `json:"runs"`
}

// activeRun is one active run.
type activeRun struct {
	Name      string `json:"name"`
	Link      string `json:"link"`
	Ran       string `json:"ran"`
	State     string `json:"state"`
	Elapsed   string `json:"elapsed"`
	CPU       string `json:"cpu"`
	Memory    string `json:"memory"`
	Processes string `json:"processes"`
	Labels    string `json:"labels"`
}

// live is the page of active runs.
func (s *Server) live(ctx context.Context, r *http.Request) (m finishedPage, err error) {
	if _, err := query(r); err != nil {
		return m, err
	}
	b, err := s.board(ctx)
	if err != nil {
		return m, err
	}
	m.name, m.events = "Active", eventsPage
	m.write = func(site report.Site, to *bytes.Buffer) error { return site.Page(to, "live.html", b) }
	return m, nil
}

// board reads the active runs.
func (s *Server) board(ctx context.Context) (b board, err error) {
	runs, err := s.stores.Runs.List(ctx, catalog.Filter{States: []outcome.State{outcome.Running, outcome.Queued}, Limit: activeShown + 1})
	if err != nil {
		return b, err
	}
	b.Count = count(len(runs))
	b.Runs = []activeRun{}
	for _, run := range runs[:min(len(runs), activeShown)] {
		b.Runs = append(b.Runs, newActiveRun(run, s.stores.Life.Look(ctx, run)))
	}
	return b, nil
}

func count(n int) string {
	switch {
	case n == 0:
		return "No run goes on."
	case n == 1:
		return "One run goes on."
	case n > activeShown:
		return fmt.Sprintf("More than %d runs go on; these are the newest.", activeShown)
	}
	return fmt.Sprintf("%d runs go on.", n)
}

func newActiveRun(run catalog.Run, going Active) activeRun {
	m := activeRun{
		Name: run.String(), Link: linkTo(run.Key), Ran: ranOf(run), State: going.State, Elapsed: format.Duration(going.ElapsedMS / 1000 * 1000), Labels: labelsOf(run),
		CPU: "–", Memory: "–", Processes: "–",
	}
	if use := going.Use; use != nil {
		m.CPU, m.Memory, m.Processes = format.Duration(use.CPUMS), format.Size(use.MemoryBytes), strconv.FormatInt(use.Processes, 10)
	}
	return m
}

// single is the data of a page, or of an event, about one active run.
type single struct {
	activeRun
	Stdout []report.Piece `json:"stdout"`
	Stderr []report.Piece `json:"stderr"`
}

// unendedPage is the page of an active run.
type unendedPage struct {
	single
	Class, Message, Events string
	Result                 result.Result
	CreatedAt              time.Time
	Here                   bool   // its logs can be read
	Proof                  string // of the form that stops it; empty if it cannot be stopped here
}

// unended is the page of an active run.
func (s *Server) unended(ctx context.Context, run catalog.Run, result result.Result) (m finishedPage, err error) {
	going := s.stores.Life.Look(ctx, run)
	page := unendedPage{
		Class: string(run.State), Message: result.Message, Result: result, CreatedAt: run.CreatedAt, Here: going.Here,
		Events: eventsPage + "?" + url.Values{"id": {run.String()}, "here": {strconv.FormatBool(going.Here)}}.Encode(),
	}
	if page.single, err = s.single(ctx, run, going); err != nil {
		return m, err
	}
	if going.Here {
		page.Proof = s.key.sign(ending(run.Key)...)
	}
	m.events = page.Events
	m.write = func(site report.Site, to *bytes.Buffer) error { return site.Page(to, "unended.html", page) }
	return m, nil
}

// single reads one run.
func (s *Server) single(ctx context.Context, run catalog.Run, going Active) (single, error) {
	one := single{activeRun: newActiveRun(run, going)}
	if !going.Here {
		return one, nil // its output is on another host, or missing
	}
	stdout, stderr := bounded.Tail(tailMax), bounded.Tail(tailMax)
	if err := s.stores.Life.Logs(ctx, run, stdout, stderr); err != nil {
		return one, err
	}
	one.Stdout, one.Stderr = report.Pieces(fromLine(stdout)), report.Pieces(fromLine(stderr))
	return one, nil
}

// tailMax is how much of a growing stream is shown, in bytes.
const tailMax = 8 << 10

// fromLine starts with a whole line if something was cut.
func fromLine(end *bounded.Buffer) string {
	text := end.String()
	if _, rest, found := strings.Cut(text, "\n"); found && end.Cut() {
		return "…\n" + rest
	}
	return text
}
