// Package pass has what the steps of one gc share: the host, whether it is dry, and the report.
package pass

import (
	"context"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/rundir"
)

// Pass is one gc, or the part of it that another command does.
type Pass struct {
	*phase.Host
	Hostname  string
	CatalogID string
	Access    *rundir.Access
	Dry       bool // nothing is done, only reported
	Report    Report
	recorded  map[string]bool // directories that a record of this root names
}

// New makes the pass of a host whose catalog and blob store belong together.
func New(ctx context.Context, host *phase.Host, dry bool) (*Pass, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	account, err := idmap.ReadAccount()
	if err != nil {
		return nil, err
	}
	catalogID, _, err := store.Match(ctx, host.Catalog, host.Blobs)
	if err != nil {
		return nil, err
	}
	return &Pass{
		Host: host, Hostname: hostname, CatalogID: catalogID, Access: rundir.For(account), Dry: dry,
		recorded: map[string]bool{},
	}, nil
}

// Close ends the supervisor, if one was needed.
func (p *Pass) Close() { p.Access.Close() }

// Record notes a directory that a record of this root names.
func (p *Pass) Record(dir string) { p.recorded[dir] = true }

// Recorded reports whether a directory was noted.
func (p *Pass) Recorded(dir string) bool { return p.recorded[dir] }

// Remove removes something, dry only in the report; failed removals are not reported as such.
func (p *Pass) Remove(what string, do func() error) error {
	if !p.Dry {
		if err := do(); err != nil {
			return err
		}
	}
	p.Report.Removed = append(p.Report.Removed, what)
	return nil
}
