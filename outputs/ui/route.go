package ui

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/connlimit"
	"github.com/scidex-ai/scidex-oci/outputs/report"
)

//go:embed *.html ui.css live.js
var files embed.FS

// The names of all pages. In a URL the name follows the proof of the key.
const (
	listPage     = ""
	runPage      = "run"
	outputsPage  = "outputs"
	againstPage  = "against"
	livePage     = "live"
	sweepAddress = "sweep"
	eventsPage   = "events"
	scriptPage   = "live.js"
	stopPage     = "stop"
	downloadPage = "download"
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	for _, guard := range s.guards {
		if err := guard.check(s, r); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if !connlimit.Keep(r) {
		s.fail(w, r, refuse(http.StatusServiceUnavailable, "Too many connections are open; close some pages."))
		return
	}
	if err := s.answer(w, r); err != nil {
		s.fail(w, r, err)
	}
}

// answer calls the function of a page. If it returns an error, nothing was written.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	_, page := split(r)
	switch page {
	case listPage:
		return s.page(w, r, s.list)
	case runPage:
		return s.page(w, r, s.run)
	case outputsPage:
		return s.page(w, r, s.outputs)
	case againstPage:
		return s.page(w, r, s.against)
	case sweepAddress:
		return s.page(w, r, s.sweep)
	case livePage:
		return s.page(w, r, s.live)
	case eventsPage:
		return s.events(w, r)
	case scriptPage:
		return script(w)
	case stopPage:
		return s.stop(w, r)
	case downloadPage:
		return s.download(w, r)
	}
	return refuse(http.StatusNotFound, "There is no such page.")
}

// finishedPage is a page: what of a site it uses, and how it is written.
type finishedPage struct {
	name   string // of this page's link, if every page has it
	tools  any
	events string       // the stream that its script reads, if any
	links  report.Links // of the run that it is about
	write  func(site report.Site, to *bytes.Buffer) error
}

// navLink is a link on every page.
type navLink struct {
	Name, Address string
	Here          bool // it is this very page
}

func (s *Server) top(page string) []navLink {
	return []navLink{{"Runs", s.key.root(), page == "Runs"}, {"Active", s.key.root() + livePage, page == "Active"}}
}

// page renders a page and sends it once it is complete. A few run at a time: a page has some megabytes at most.
func (s *Server) page(w http.ResponseWriter, r *http.Request, make func(context.Context, *http.Request) (finishedPage, error)) error {
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	select {
	case s.pages <- struct{}{}:
		defer func() { <-s.pages }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m, err := make(ctx, r)
	if err != nil {
		return err
	}
	return s.send(w, http.StatusOK, m)
}

// send writes a page and the policy that it needs.
func (s *Server) send(w http.ResponseWriter, status int, m finishedPage) error {
	css, err := fs.ReadFile(files, "ui.css")
	if err != nil {
		return err
	}
	site := report.Site{Templates: files, Style: string(css), Top: s.top(m.name), Tools: m.tools, Links: m.links}
	if m.events != "" {
		site.Script = s.key.root() + scriptPage
	}
	style, err := site.StyleDigest()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := m.write(site, &page); err != nil {
		return err
	}
	s.allow(w.Header(), style, m.events)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // client disconnected
	return nil
}

// fail answers with a sentence. A request without a proof gets no page, since its links would contain the proof.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, why := s.explain(err)
	if r.Context().Err() != nil {
		return // client gone, or shutdown
	}
	if proof, _ := split(r); r.Host != s.host || !s.key.proves(proof, "pages") {
		http.Error(w, why, status)
		return
	}
	m := finishedPage{write: func(site report.Site, to *bytes.Buffer) error {
		return site.Page(to, "message.html", struct{ Title, Why string }{http.StatusText(status), why})
	}}
	if err := s.send(w, status, m); err != nil {
		s.log.Error("a page was not made", "page", "message", "error", err)
		http.Error(w, why, status)
	}
}

// explain is a status and a sentence.
func (s *Server) explain(err error) (int, string) {
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return refused.status, refused.Error()
	case errors.Is(err, catalog.ErrNotFound):
		return http.StatusNotFound, "The catalog has no such run or output."
	case errors.Is(err, catalog.ErrAmbiguous):
		return http.StatusBadRequest, "Several ids begin like this; give more of it."
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, fmt.Sprintf("This took longer than %s; ask for less, as with a label or a state.", pageTimeout)
	}
	s.log.Error("a page was not made", "error", err)
	return http.StatusInternalServerError, "This did not work: " + err.Error() + "."
}

// script is the one the policy allows.
func script(w http.ResponseWriter) error {
	js, err := files.ReadFile("live.js")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(js) // client disconnected
	return nil
}
