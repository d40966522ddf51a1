package recovery

import (
	"context"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// pass is one gc, or the part of it that another command does.
type pass struct {
	*phase.Host
	hostname  string
	catalogID string
	access    *access
	dry       bool // nothing is done, only reported
	report    GCReport
	recorded  map[string]bool // directories that a record of this root names
}

// newPass makes the pass of a host whose catalog and blob store belong together.
func newPass(ctx context.Context, host *phase.Host, dry bool) (*pass, error) {
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
	return &pass{
		Host: host, hostname: hostname, catalogID: catalogID, access: &access{account: account}, dry: dry,
		recorded: map[string]bool{},
	}, nil
}

// close ends the supervisor, if one was needed.
func (p *pass) close() { p.access.close() }

// record notes a directory that a record of this root names.
func (p *pass) record(dir string) { p.recorded[dir] = true }

// isRecorded reports whether a directory was noted.
func (p *pass) isRecorded(dir string) bool { return p.recorded[dir] }

// remove removes something, dry only in the report; failed removals are not reported as such.
func (p *pass) remove(what string, do func() error) error {
	if !p.dry {
		if err := do(); err != nil {
			return err
		}
	}
	p.report.Removed = append(p.report.Removed, what)
	return nil
}
