// Package spool is a directory in which machines without a database leave results, for one that has to commit them. It needs
// only a shared file system: a name is given by link(2) or rename(2) after its content is durable, without locks, and each
// result has one name that the first writer gives and that never changes.
//
//	results/N         a record (outputs/record): the run, its events and the entries of its working directory
//	results/N.late    one that came when the name was taken, for a person to check
//	blobs/HEX         a file, by its SHA-256
//	collected/N       empty: the result is in the catalog
package spool

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/store"
)

// ErrTaken is returned if another result has the name.
var ErrTaken = errors.New("another result has its place")

const (
	resultsDir   = "results"
	blobsDir     = "blobs"
	collectedDir = "collected"
	lateSuffix   = ".late"
)

// Spool is the caller's spool directory, in which it may have files of its own.
type Spool struct{ Dir string }

// head is the first line of a record.
type head struct {
	V   int         `json:"v"` // 1
	Run catalog.Run `json:"run"`
}

// Make makes a spool's layout in an existing directory.
func Make(dir string) (Spool, error) {
	for _, name := range []string{resultsDir, blobsDir, collectedDir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return Spool{}, err
		}
	}
	return Spool{dir}, atomicfile.SyncDir(dir)
}

// At is the spool in a directory prepared by Make.
func At(dir string) Spool { return Spool{dir} }

// Path is the path of the n-th result, which may be missing.
func (s Spool) Path(n int) string { return filepath.Join(s.Dir, resultName(n)) }

// LatePath is the path of a second n-th result, if there is one.
func (s Spool) LatePath(n int) string { return s.Path(n) + lateSuffix }

// Source is the run to deliver and its store.
type Source struct {
	store.Store
	Key catalog.Key
}

// Deliver writes a run with its outputs as the n-th result, under its key in the catalog. When it returns nil the
// result is durable. If another one exists, this one is kept under the late name, and the error is ErrTaken.
func (s Spool) Deliver(ctx context.Context, n int, from Source, key catalog.Key) error {
	run, err := from.Catalog.Get(ctx, from.Key)
	if err != nil {
		return err
	}
	if !run.State.Final() {
		return fmt.Errorf("run %s has not ended", run.ID)
	}
	if run.Events, err = from.Catalog.Events(ctx, from.Key); err != nil {
		return err
	}
	if err := s.putBlobs(ctx, run, from); err != nil {
		return err
	}
	run.Key = key
	return s.put(n, run, func() (next func() (outputs.Entry, error), stop func()) {
		return store.Entries(ctx, from.Catalog, from.Key)
	})
}

// Conclude writes a run without outputs as the n-th result, as Deliver does.
func (s Spool) Conclude(n int, run catalog.Run) error {
	return s.put(n, run, func() (next func() (outputs.Entry, error), stop func()) { return nothing, func() {} })
}

// sameResult reports whether two results are one, written twice.
func sameResult(a, b catalog.Run) bool {
	return a.Key == b.Key && a.State == b.State && a.Host == b.Host && a.BootID == b.BootID && a.CreatedAt.Equal(b.CreatedAt) && a.FinishedAt.Equal(b.FinishedAt)
}

func nothing() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }

// put gives a result its name, or the late one if that is taken.
func (s Spool) put(n int, run catalog.Run, entries func() (next func() (outputs.Entry, error), stop func())) error {
	next, stop := entries()
	err := record.KeepFirst(s.Path(n), head{1, run}, next)
	stop()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if there, err := s.Peek(n); err == nil && sameResult(there, run) {
		return atomicfile.SyncDir(filepath.Dir(s.Path(n))) // an earlier try has named it but was interrupted
	}
	if run.OutputsTotal+run.RejectedTotal > 0 || run.State == outcome.Complete || run.State == outcome.Failed {
		next, stop = entries()
		defer stop()
		if err := record.Keep(s.LatePath(n), head{1, run}, next); err != nil {
			return fmt.Errorf("another result has its place, and this one cannot be kept beside it: %w", err)
		}
	}
	return cmp.Or(atomicfile.SyncDir(filepath.Dir(s.Path(n))), ErrTaken) // the other one may have named it only now
}

// putBlobs makes all blobs of a run durable.
func (s Spool) putBlobs(ctx context.Context, run catalog.Run, from Source) (err error) {
	for _, digest := range run.Blobs {
		err = errors.Join(err, s.putBlob(ctx, from, digest))
	}
	var failed error
	err = errors.Join(err, from.Catalog.Outputs(ctx, from.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" {
			failed = s.putBlob(ctx, from, e.SHA256)
		}
		return failed == nil
	}), failed)
	if err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Join(s.Dir, blobsDir))
}

// putBlob copies one blob. It is renamed once it is durable; writing the same content twice is harmless.
func (s Spool) putBlob(ctx context.Context, from Source, digest string) error {
	in, err := from.Blobs.Open(ctx, digest)
	if err != nil {
		return err
	}
	defer in.Close()
	path := filepath.Join(s.Dir, blobsDir, digest)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return atomicfile.Write(path, path+"."+rand.Text()+record.Unfinished, atomicfile.Content, func(out *os.File) error {
		_, err := io.Copy(out, in)
		return err
	})
}

// Has reports whether the n-th result exists, whole or not.
func (s Spool) Has(n int) (bool, error) { return s.Exists(resultName(n)) }

// Late reports whether a second n-th result exists.
func (s Spool) Late(n int) (bool, error) { return s.Exists(resultName(n) + lateSuffix) }

// Collected reports whether the n-th result was committed.
func (s Spool) Collected(n int) (bool, error) { return s.Exists(collectedName(n)) }

func resultName(n int) string { return filepath.Join(resultsDir, strconv.Itoa(n)) }

func collectedName(n int) string { return filepath.Join(collectedDir, strconv.Itoa(n)) }

// Exists reports whether the spool has a file of that name.
func (s Spool) Exists(name string) (bool, error) {
	_, err := os.Lstat(filepath.Join(s.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ReadJSON reads a small file of the caller's.
func (s Spool) ReadJSON(name string, v any) error {
	path := filepath.Join(s.Dir, name)
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return err
}

// WriteJSON writes one, atomically and durably.
func (s Spool) WriteJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	path := filepath.Join(s.Dir, name)
	return atomicfile.Write(path, path+record.Unfinished, atomicfile.Durable, func(f *os.File) error {
		_, err := f.Write(append(data, '\n'))
		return err
	})
}

// Peek returns the run of the n-th result without verifying its digest.
func (s Spool) Peek(n int) (catalog.Run, error) {
	var h head
	if err := record.Peek(s.Path(n), &h); err != nil {
		return h.Run, fmt.Errorf("result %s: %w", s.Path(n), err)
	}
	return h.Run, nil
}
