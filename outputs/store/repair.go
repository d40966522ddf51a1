package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// repair restores damaged and missing blobs for which this host has copies, and counts them. It trusts nothing of a copy but
// its digest. A failure to restore one blob does not stop the others.
func (s Store) repair(ctx context.Context, o Options, id string) (int64, error) {
	o.Problem = func(catalog.Key, string) {}
	c := s.checker(o, id)
	if err := c.blobs(ctx); err != nil || len(c.bad) == 0 {
		return 0, err
	}
	if err := c.fromCache(ctx); err != nil {
		return c.report.Repaired, err
	}
	var failed error
	runs, err := c.Catalog.List(ctx, catalog.Filter{})
	if err != nil {
		return c.report.Repaired, err
	}
	for _, run := range runs {
		err := c.references(ctx, run, func(r reference) error {
			if !c.bad[r.sha256] {
				return nil
			}
			failed = errors.Join(failed, c.fromCopies(ctx, r, copies(run, r)))
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return c.report.Repaired, errors.Join(failed, err)
		}
	}
	return c.report.Repaired, failed
}

// markRepaired removes a blob from the damaged ones.
func (c *checker) markRepaired(sha256, from string) {
	delete(c.bad, sha256)
	c.report.Repaired++
	c.Repaired(sha256, from)
}

// fromCache restores blobs from the local copies of a shared store.
func (c *checker) fromCache(ctx context.Context) error {
	for sha256 := range c.bad {
		repaired, err := c.Blobs.RepairFromCache(ctx, sha256)
		if err != nil {
			return err
		}
		if repaired {
			c.markRepaired(sha256, c.Blobs.Dir())
		}
	}
	return nil
}

// candidate is a file that may have the content of a blob: a name below a directory, which it must not escape.
type candidate struct{ dir, name string }

// fromCopies tries files until one has the content.
func (c *checker) fromCopies(ctx context.Context, r reference, from []candidate) error {
	for _, one := range from {
		f, err := one.open(r.size)
		if err != nil {
			continue // most do not exist
		}
		err = errors.Join(c.Blobs.Repair(ctx, r.sha256, f), f.Close())
		switch {
		case errors.Is(err, cas.ErrCorrupt):
		case err != nil:
			return fmt.Errorf("repair blob %s from %s: %w", r.sha256, filepath.Join(one.dir, one.name), err)
		default:
			c.markRepaired(r.sha256, filepath.Join(one.dir, one.name))
			return nil
		}
	}
	return nil
}

// open opens a regular file of a size; -1: of any. An analysis may own the directory: nothing is followed out of it or
// awaited.
func (c candidate) open(size int64) (*os.File, error) {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(c.name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || size >= 0 && info.Size() != size) {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// copies are the possible files with the content of a reference on this host: in other blob stores of the run, in its kept
// directory, among its exports, and for the script the original.
func copies(run catalog.Run, r reference) (all []candidate) {
	var h home
	_ = json.Unmarshal(run.Place, &h) // unknown ones are not tried
	var request struct{ Script, Export string }
	_ = json.Unmarshal(run.Request, &request)
	if dir, local := strings.CutPrefix(h.Blobs, "file://"); local {
		all = append(all, candidate{dir, filepath.Join("sha256", r.sha256)})
	}
	if h.State != "" {
		all = append(all, candidate{filepath.Join(filepath.Dir(filepath.Dir(h.State)), "blobs"), filepath.Join("sha256", r.sha256)})
	}
	if r.output == "" {
		all = append(all, candidate{filepath.Dir(request.Script), filepath.Base(request.Script)})
	} else {
		all = append(all, candidate{h.Dir, r.output}, candidate{filepath.Join(h.Dir, "work"), r.output}, candidate{request.Export, r.output})
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return !filepath.IsAbs(c.dir) })
}
