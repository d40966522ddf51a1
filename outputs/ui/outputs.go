package ui

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/report"
)

// outputsListed is the outputs on a page.
const outputsListed = 200

// outputList is a page of a run's outputs.
type outputList struct {
	Name, Link    string // of the run
	Ran           string
	Rows          []outputRow
	Later         bool // it does not start with the first
	Removed       bool // only their digests are left
	First, Onward string
}

type outputRow struct {
	Path, Type, SHA256, Link string

	Size    int64
	Partial bool
}

// outputs is a page of all outputs of an ended run, sorted by path. Those before the page are read too.
func (s *Server) outputs(ctx context.Context, r *http.Request) (m finishedPage, err error) {
	values, err := query(r, "id", "after")
	if err != nil {
		return m, err
	}
	run, err := s.stores.Runs.Find(ctx, values.Get("id"))
	if err != nil {
		return m, err
	}
	page, after := newOutputList(run, values.Get("after")), []byte(values.Get("after"))
	links := links{s, run.Key}
	last := ""
	err = s.stores.Files.Outputs(ctx, run.Key, func(entry outputs.Entry) bool {
		if entry.Rejected != "" || page.Later && bytes.Compare(entry.Path, after) <= 0 {
			return true
		}
		if len(page.Rows) == outputsListed {
			page.Onward = linkToOutputs(run.Key, last)
			return false
		}
		row := outputRow{Path: outputs.Escape(entry.Path), Type: entry.MediaType, SHA256: entry.SHA256, Size: entry.Size, Partial: entry.Partial}
		if last = string(entry.Path); !page.Removed {
			row.Link = links.of(last)
		}
		page.Rows = append(page.Rows, row)
		return true
	})
	m.write = func(site report.Site, to *bytes.Buffer) error { return site.Page(to, "outputs.html", page) }
	return m, err
}

func newOutputList(run catalog.Run, after string) outputList {
	return outputList{
		Name: run.String(), Link: linkTo(run.Key), Ran: ranOf(run), First: linkToOutputs(run.Key, ""),
		Later: after != "", Removed: !run.OutputsRemovedAt.IsZero(),
	}
}

// linkToOutputs is the URL of a run's outputs after a path, from any page.
func linkToOutputs(key catalog.Key, after string) string {
	values := url.Values{"id": {key.String()}}
	if after != "" {
		values.Set("after", after)
	}
	return outputsPage + "?" + values.Encode()
}
