package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/store"
)

// Commit puts the n-th result into a catalog and its blob store and records that. It uses the key under which it was
// delivered, or, if another run has taken that since, the next free attempt; it returns the key. It may be called
// again, also concurrently, and after a kill at any moment: the run is there once. A result that is incomplete, or of
// another run, is an error and stays as it is, and so is one whose run ended differently in the catalog.
func (s Spool) Commit(ctx context.Context, n int, key catalog.Key, to store.Store) (catalog.Key, error) {
	key, err := s.commit(ctx, n, key, to)
	if err != nil {
		return key, fmt.Errorf("result %s: %w", s.Path(n), err)
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, collectedName(n)), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return key, err
	}
	return key, f.Close()
}

func (s Spool) commit(ctx context.Context, n int, key catalog.Key, to store.Store) (catalog.Key, error) {
	run, err := s.read(n, func(outputs.Entry) error { return nil })
	if err != nil {
		return key, err
	}
	if run.Key != key || !run.State.Final() {
		return key, fmt.Errorf("it is of run %s in state %s, not of the end of %s", run.Key, run.State, key)
	}
	return s.transfer(ctx, n, run, to)
}

// transfer copies the blobs first: no row lacks its blob, even if this is interrupted.
func (s Spool) transfer(ctx context.Context, n int, run catalog.Run, to store.Store) (key catalog.Key, err error) {
	ingest, err := to.Blobs.NewIngest("slurm")
	if err != nil {
		return key, err
	}
	// Its lock prevents the removal of the blobs until the row names them.
	defer func() { err = errors.Join(err, ingest.Close()) }()
	named := slices.Clone(run.Blobs)
	for _, digest := range named {
		if err := s.fetch(to.Blobs, ingest, digest); err != nil {
			return key, err
		}
	}
	_, err = s.read(n, func(e outputs.Entry) error {
		if e.Rejected != "" {
			return nil
		}
		named = append(named, e.SHA256)
		return s.fetch(to.Blobs, ingest, e.SHA256)
	})
	if err != nil {
		return key, err
	}
	if err := ingest.Sync(); err != nil {
		return key, err
	}
	if err := to.Blobs.Keep(ctx, named, func() {}); err != nil {
		return key, err
	}
	if run.Key, err = reserve(ctx, run, to.Catalog); err != nil {
		return key, err
	}
	content, err := record.Open(s.Path(n), &head{})
	if err != nil {
		return key, err
	}
	defer content.Close()
	return run.Key, to.Catalog.Commit(ctx, run, content.Next)
}

// reserve writes the intent of a run under the first attempt, from its own on, that no other run has, and returns its key. A
// run with a row already, of an interrupted commit or another process, keeps it: rows are written in the order of attempts,
// so that two processes cannot write one run twice.
func reserve(ctx context.Context, run catalog.Run, to catalog.Catalog) (catalog.Key, error) {
	for {
		attempts, err := to.List(ctx, catalog.Filter{ID: run.ID})
		if err != nil {
			return run.Key, err
		}
		taken, last := false, 0
		for _, there := range attempts {
			if there.CreatedAt.Equal(run.CreatedAt.Truncate(time.Millisecond)) && there.Host == run.Host {
				return there.Key, nil
			}
			taken, last = taken || there.Attempt == run.Attempt, max(last, there.Attempt)
		}
		if taken {
			run.Attempt = last + 1
		}
		if err := to.Create(ctx, store.Intent(run)); !errors.Is(err, catalog.ErrExists) {
			return run.Key, err
		}
	}
}

// read reads the n-th result to its end.
func (s Spool) read(n int, each func(outputs.Entry) error) (catalog.Run, error) {
	var h head
	content, err := record.Open(s.Path(n), &h)
	if errors.Is(err, record.ErrDamaged) {
		return h.Run, fmt.Errorf("%w and is not committed; remove it, and the line is reported as lost", err)
	}
	if err != nil {
		return h.Run, err
	}
	defer content.Close()
	var failed error
	err = content.Each(func(e outputs.Entry) {
		if failed == nil {
			failed = each(e)
		}
	})
	return h.Run, errors.Join(err, failed)
}

// fetch copies one blob into the store and verifies it.
func (s Spool) fetch(to *blob.Store, ingest *cas.Ingest, digest string) error {
	if _, err := to.Path(digest); err != nil {
		return err // it may be no file name
	}
	in, err := regular.Open(filepath.Join(s.Dir, blobsDir, digest))
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = ingest.Put(digest, in)
	return err
}
