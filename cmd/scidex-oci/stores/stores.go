// Package stores opens the catalog and the blob store that the global options name, and a Host on them.
package stores

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/inodes"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Stores are an opened catalog and blob store, and the phase.Host that uses them. Close them.
type Stores struct {
	Catalog   catalog.Catalog
	Selftests catalog.Selftests
	Blobs     *blob.Store
	Host      *phase.Host
	driver    drivers.Database // of the catalog; nil: it is a file
}

// Open opens what s names, and makes what is missing. The log receives messages. Errors are of type request.CatalogError, or
// request.Error if the request is wrong.
func Open(ctx context.Context, s Settings, given Policy, version string, log io.Writer) (*Stores, error) {
	st, err := open(ctx, s, given, version, log)
	var refused *request.Error
	if err == nil || errors.As(err, &refused) {
		return st, err
	}
	return nil, &request.CatalogError{Err: inodes.Explain(err)}
}

func open(ctx context.Context, s Settings, given Policy, version string, log io.Writer) (*Stores, error) {
	for _, dir := range []string{s.Root, s.Blobs.dir} {
		if err := makeTrusted(dir); err != nil {
			return nil, err
		}
	}
	blobs, err := s.Blobs.open()
	if err != nil {
		return nil, err
	}
	cat, err := s.db.openIf(ctx, s.checkNew)
	if err != nil {
		return nil, err
	}
	given.egress.Own = func() []string { return slices.Concat(s.db.hosts(), s.Blobs.hosts()) }
	return &Stores{Catalog: cat, Selftests: cat, Blobs: blobs, driver: s.db.driver, Host: &phase.Host{
		Catalog: cat, Blobs: blobs, Root: s.Root, Tmp: s.Tmp, MinFree: given.Floor, MaxUnharvested: given.Unharvested, Version: version,
		Private:       append(s.db.private(), s.Blobs.dir),
		DatabaseHosts: s.db.hosts(), AllowBinds: given.allowed, Egress: given.egress,
		Sign: given.sign,
		Log:  s.Logger(log),
	}}, nil
}

// Close closes the catalog.
func (st *Stores) Close() error { return st.Catalog.Close() }
