package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/report"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// tools are the additions of a run's page to those of a report.
type tools struct {
	Name     string
	Attempts []link // the others
	Labels   []link // pages of the runs that share one
}

type link struct{ Name, Address string }

// run is the page of a run: a report if it has ended, else its current status.
func (s *Server) run(ctx context.Context, r *http.Request) (m finishedPage, err error) {
	values, err := query(r, "id")
	if err != nil {
		return m, err
	}
	run, err := s.stores.Runs.Find(ctx, values.Get("id"))
	if err != nil {
		return m, err
	}
	result, err := s.stores.Runs.Result(ctx, run)
	if err != nil {
		return m, err
	}
	if !result.State.Final() {
		return s.unended(ctx, run, result)
	}
	attempts, err := s.attempts(ctx, run.Key)
	if err != nil {
		return m, err
	}
	m.tools = tools{run.String(), attempts, labelLinks(run)}
	m.links = links{s, run.Key}
	m.write = func(site report.Site, to *bytes.Buffer) error { return site.Run(to, result, s.reading(ctx)) }
	return m, nil
}

// attemptsShown is the maximum number of attempts linked, newest first.
const attemptsShown = 10

func (s *Server) attempts(ctx context.Context, key catalog.Key) (others []link, err error) {
	runs, err := s.stores.Runs.List(ctx, catalog.Filter{ID: key.ID, Limit: attemptsShown})
	for _, run := range runs {
		if run.Key != key {
			others = append(others, link{fmt.Sprintf("attempt %d: %s", run.Attempt, run.State), linkTo(run.Key)})
		}
	}
	return others, err
}

// labelLinks lead to the runs that share a label with one.
func labelLinks(run catalog.Run) (all []link) {
	for _, name := range slices.Sorted(maps.Keys(run.Labels)) {
		label := name + "=" + run.Labels[name]
		all = append(all, link{label, linkToSweep(label)})
	}
	return all
}

// against compares two runs.
func (s *Server) against(ctx context.Context, r *http.Request) (m finishedPage, err error) {
	values, err := query(r, "id", "with")
	if err != nil {
		return m, err
	}
	var both [2]result.Result
	for i, name := range []string{"id", "with"} {
		if both[i], err = s.ended(ctx, values.Get(name)); err != nil {
			return m, err
		}
	}
	m.write = func(site report.Site, to *bytes.Buffer) error {
		return site.Compare(to, both[0], both[1], s.reading(ctx))
	}
	return m, nil
}

func (s *Server) ended(ctx context.Context, name string) (result.Result, error) {
	run, err := s.stores.Runs.Find(ctx, name)
	if err != nil {
		return result.Result{}, fmt.Errorf("run %q: %w", name, err)
	}
	result, err := s.stores.Runs.Result(ctx, run)
	if err == nil && !result.State.Final() {
		err = refuse(http.StatusConflict, fmt.Sprintf("Run %q is %s; runs are compared when both have ended.", run.Key, result.State))
	}
	return result, err
}

// reading returns the blobs, readable until ctx ends.
func (s *Server) reading(ctx context.Context) report.Blobs {
	return reader(func(sha256 string) (io.ReadCloser, error) { return s.stores.Files.Open(ctx, sha256) })
}

type reader func(sha256 string) (io.ReadCloser, error)

func (r reader) Open(sha256 string) (io.ReadCloser, error) { return r(sha256) }
