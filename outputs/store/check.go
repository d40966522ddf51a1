package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Options of a check.
type Options struct {
	// Host is the name of this host. Blobs of other hosts' runs may be in their stores, and of other roots' in theirs.
	Host string
	// Digests reads and verifies every blob, instead of only checking its existence and size, and checks the structure of a
	// catalog in a file.
	Digests bool
	// Repair restores damaged and missing blobs from copies on this host. Repaired is called for each, with the copy's
	// location; Problem only for what is wrong after that.
	Repair   bool
	Repaired func(sha256, from string)
	// Problem is called for each error found. A blob is reported for each run that names it.
	Problem func(key catalog.Key, what string)
}

// Report is a check's result.
type Report struct {
	CatalogID   string `json:"catalog_id"`
	Runs        int64  `json:"runs"`
	References  int64  `json:"references"` // references to blobs by outputs, logs and scripts
	Verified    int64  `json:"verified"`   // blobs that were read
	Problems    int64  `json:"problems"`
	Repaired    int64  `json:"repaired"`  // blobs restored from copies
	Elsewhere   int64  `json:"elsewhere"` // references of runs that have another store, of another host or root, to blobs that are not here
	Orphans     int64  `json:"orphans"`   // blobs that no run names; gc removes them later
	OrphanBytes int64  `json:"orphan_bytes"`
}

// Check compares the rows of a catalog with the blobs. It changes nothing unless it repairs. Runs may end during the
// check: the blobs they publish may be counted as orphans.
func (s Store) Check(ctx context.Context, o Options) (Report, error) {
	id, _, err := Match(ctx, s.Catalog, s.Blobs)
	if err != nil {
		return Report{}, err
	}
	c := s.checker(o, id)
	var failed error
	if o.Repair {
		c.report.Repaired, failed = s.repair(ctx, o, id)
	}
	err = c.blobs(ctx)
	if err == nil {
		err = c.orphans(ctx)
	}
	return *c.report, errors.Join(failed, err)
}

func (s Store) checker(o Options, id string) *checker {
	return &checker{Store: s, Options: o, report: &Report{CatalogID: id}, gone: map[string]bool{}, bad: map[string]bool{}}
}

// blobs checks all but unreferenced blobs.
func (c *checker) blobs(ctx context.Context) error {
	if err := c.database(ctx); err != nil {
		return err
	}
	if err := c.rows(ctx); err != nil {
		return err
	}
	if !c.Digests {
		return nil
	}
	return c.contents(ctx)
}

type checker struct {
	Store
	Options
	report *Report
	gone   map[string]bool // digests reported already
	bad    map[string]bool // those of them that are not elsewhere, and damaged ones
}

func (c *checker) wrong(key catalog.Key, format string, args ...any) {
	c.report.Problems++
	c.Problem(key, fmt.Sprintf(format, args...))
}

// database checks the structure of a catalog in a file, if the check reads all bytes. A server checks its own.
func (c *checker) database(ctx context.Context) error {
	file, ok := c.Catalog.(interface {
		QuickCheck(ctx context.Context) ([]string, error)
	})
	if !ok || !c.Digests {
		return nil
	}
	damage, err := file.QuickCheck(ctx)
	for _, line := range damage {
		c.wrong(catalog.Key{}, "the database is damaged, restore it from a backup: %s", line)
	}
	return err
}

// rows checks that the blobs of the runs exist.
func (c *checker) rows(ctx context.Context) error {
	runs, err := c.Catalog.List(ctx, catalog.Filter{})
	if err != nil {
		return err
	}
	for _, run := range runs {
		c.report.Runs++
		err := c.references(ctx, run, func(r reference) error {
			c.report.References++
			problem, err := c.problem(ctx, r)
			switch {
			case err != nil:
				return err
			case problem == "":
				return nil
			}
			c.gone[r.sha256] = true
			if problem == "missing" && c.elsewhere(run) {
				c.report.Elsewhere++
				return nil
			}
			c.bad[r.sha256] = true
			c.wrong(run.Key, "%s: blob %s %s", r.what, r.sha256, wording(problem))
			return nil
		})
		if errors.Is(err, catalog.ErrNotFound) {
			continue // removed since it was listed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func wording(problem string) string {
	if problem == "missing" || problem == "not a regular file" {
		return "is " + problem
	}
	return problem
}

// contents reads every blob that a run names, once.
func (c *checker) contents(ctx context.Context) error {
	var failed error
	err := c.Catalog.Digests(ctx, func(sha256 string) bool {
		if c.gone[sha256] {
			return true
		}
		switch err := c.Blobs.Verify(ctx, sha256); {
		case errors.Is(err, fs.ErrNotExist): // its run was removed since it was listed, or it was just reported
			failed = c.unlessThere(ctx, sha256, err)
		case errors.Is(err, cas.ErrCorrupt):
			c.bad[sha256] = true
			c.wrong(catalog.Key{}, "%v", err)
		case err != nil:
			failed = err
		default:
			c.report.Verified++
		}
		return failed == nil
	})
	return errors.Join(failed, err)
}

type stored struct {
	digest [32]byte
	size   int64
}

// orphans counts the blobs that no run names. Both lists are sorted by digest.
func (c *checker) orphans(ctx context.Context) error {
	all, err := c.stored(ctx)
	if err != nil {
		return err
	}
	next := 0
	orphansBelow := func(digest []byte) {
		for ; next < len(all) && (digest == nil || bytes.Compare(all[next].digest[:], digest) < 0); next++ {
			c.report.Orphans++
			c.report.OrphanBytes += all[next].size
		}
	}
	err = c.Catalog.Digests(ctx, func(sha256 string) bool {
		digest, err := hex.DecodeString(sha256)
		if err != nil {
			return true
		}
		orphansBelow(digest)
		if next < len(all) && bytes.Equal(all[next].digest[:], digest) {
			next++
		}
		return true
	})
	if err != nil {
		return err
	}
	orphansBelow(nil)
	return nil
}

func (c *checker) stored(ctx context.Context) ([]stored, error) {
	var all []stored
	err := c.Blobs.Walk(ctx, nil, func(f cas.Found) bool {
		one := stored{size: f.Size}
		if n, err := hex.Decode(one.digest[:], []byte(f.SHA256)); err == nil && n == len(one.digest) {
			all = append(all, one)
		}
		return true
	})
	slices.SortFunc(all, func(a, b stored) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	return all, err
}
