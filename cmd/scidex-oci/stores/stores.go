// Package stores opens the catalog and the blob store that the global options name, and a Host on them.
package stores

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
}

// Open opens what s names, and makes what is missing. The log receives messages. Errors are of type request.CatalogError, or
// request.Error where the request is wrong.
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
	return &Stores{Catalog: cat, Selftests: cat, Blobs: blobs, Host: &phase.Host{
		Catalog: cat, Blobs: blobs, Root: s.Root, Tmp: s.Tmp, MinFree: given.Floor, MaxUnharvested: given.Unharvested, Version: version,
		Private:  append(s.db.private(), s.Blobs.dir),
		Database: s.db.listens(), AllowBinds: given.allowed, Egress: given.egress,
		Sign: given.sign,
		Log:  s.Logger(log),
	}}, nil
}

// Close closes the catalog.
func (st *Stores) Close() error { return st.Catalog.Close() }

// Find finds a run by what a person types: an id, its unique prefix, ID@ATTEMPT or @last.
func (st *Stores) Find(ctx context.Context, name string) (catalog.Run, error) {
	run, err := st.Catalog.Find(ctx, name)
	if err != nil {
		return run, cmp.Or(st.noAttempt(ctx, name, err), st.nearID(ctx, name, err), NotFound(name, err))
	}
	return run, nil
}

// FindWhole is Find for a command that changes a run or makes another attempt of it. It refuses a prefix.
func (st *Stores) FindWhole(ctx context.Context, name string) (catalog.Run, error) {
	run, err := st.Catalog.Find(ctx, name)
	if err != nil {
		return run, cmp.Or(st.noAttempt(ctx, name, err), st.nearID(ctx, name, err), NotFoundWhole(name, err))
	}
	return run, WholeID(name, run)
}

// NotFoundWhole is NotFound for a command that refuses a prefix.
func NotFoundWhole(name string, err error) error {
	if errors.Is(err, catalog.ErrAmbiguous) {
		return fmt.Errorf("%q is the beginning of several ids; type all of the id here, \"scidex-oci ls\" has it", name)
	}
	return NotFound(name, err)
}

// WholeID refuses a name that is only the beginning of the id of the run it found: a typing error may begin an id as well.
func WholeID(name string, found catalog.Run) error {
	typed, err := catalog.ParseName(name)
	if err != nil || typed.Last || typed.ID == found.ID {
		return err
	}
	typed.ID = found.ID
	return fmt.Errorf("%q is only the beginning of an id; type all of it here: %s", name, typed)
}

// NotFound is the error of a name for which the catalog found no run.
func NotFound(name string, err error) error {
	switch {
	case errors.Is(err, catalog.ErrNotFound) && strings.HasPrefix(name, "@"):
		return noSuchAt(name)
	case errors.Is(err, catalog.ErrNotFound):
		return fmt.Errorf("no run %q in this catalog; see \"scidex-oci ls\"", name)
	case errors.Is(err, catalog.ErrAmbiguous):
		return fmt.Errorf("%q is the beginning of several ids; type more of it", name)
	}
	return fmt.Errorf("find %q: %w", name, err)
}
