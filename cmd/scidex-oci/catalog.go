package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/docker/go-units"
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/store"
)

func newCatalogCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "catalog",
		Usage:       "migrate, check and copy the catalog",
		UsageText:   "scidex-oci catalog migrate|check|copy",
		Subcommands: []*cli.Command{newCatalogMigrate(p), newCatalogCheck(p), newCatalogCopy(p)},
	}
}

func newCatalogMigrate(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "migrate",
		Usage:     "bring the schema of the catalog to the version of this program",
		UsageText: "scidex-oci catalog migrate",
		Description: `Every command does so by itself where it may. A PostgreSQL role that may not change the schema needs
this, run by a member of scidex_admin. SQLite is backed up before; PostgreSQL is yours to back up. In PostgreSQL the
tables of the queue (submit, worker) are made and migrated with it.`,
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			if err := p.Load(c); err != nil {
				return err
			}
			return migrate(p, c.Context)
		},
	}
}

func migrate(p *command.Program, ctx context.Context) error {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return err
	}
	if !s.HasQueue() {
		c, err := s.OpenCatalog(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout, "the catalog has the newest schema")
		return c.Close()
	}
	before, after, err := s.MigrateCatalog(ctx)
	if err != nil {
		return err
	}
	if before == after {
		fmt.Fprintf(p.Stdout, "the catalog has the newest schema, version %d\n", after)
	} else {
		fmt.Fprintf(p.Stdout, "migrated the catalog from version %d to %d\n", before, after)
	}
	return migrateQueue(p, ctx, s)
}

func newCatalogCheck(p *command.Program) *cli.Command {
	o := &checkOptions{}
	return &cli.Command{
		Name:      "check",
		Usage:     "compare the rows of the catalog with the blobs",
		UsageText: "scidex-oci catalog check [--digests] [--repair] [--json]",
		Description: `Every blob that an output, log or script of a run names must be there, those of outputs with the size of
the row. Runs of other hosts, and of other roots of this one, may have their blobs in stores of those. Blobs that
no run names are counted. It changes nothing, unless it is to repair.

--repair puts back what is damaged or missing from copies on this host whose digest is right: where the blob store is
a bucket, from what is kept of it here, and of each run from the root that it was started with, its kept directory, its
--export directory and its script. Logs have no other copy. What could not be put back is told as ever.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return p.WithStores(c, func(st *stores.Stores) error { return runCatalogCheck(c.Context, p, st, *o) })
		},
	}
}

// checkOptions are the options of catalog check.
type checkOptions struct {
	digests, repair, json bool
}

func (o *checkOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.digests, "digests", "read every blob and verify its digest, and check the structure of a SQLite file"),
		options.Bool(&o.repair, "repair", "replace what is damaged or missing from copies on this host"),
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func runCatalogCheck(ctx context.Context, p *command.Program, st *stores.Stores, o checkOptions) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	report, err := store.Store{Catalog: st.Catalog, Blobs: st.Blobs}.Check(ctx, store.Options{
		Host: host, Digests: o.digests, Repair: o.repair,
		Repaired: func(sha256, from string) {
			fmt.Fprintf(p.Stderr, "repaired blob %s from %s\n", sha256, screen.Escape(from))
		},
		Problem: func(key catalog.Key, what string) {
			if key.ID != "" {
				what = "run " + key.String() + ": " + what
			}
			fmt.Fprintln(p.Stderr, screen.Escape(what))
		},
	})
	if err != nil {
		return err
	}
	if o.json {
		err = screen.WriteJSON(p.Stdout, report)
	} else {
		printChecked(p.Stdout, report, o.digests, o.repair)
	}
	if report.Problems > 0 {
		err = errors.Join(err, fmt.Errorf("%s found in the catalog; see above", screen.Count(int(report.Problems), "problem")))
	}
	return err
}

func printChecked(w io.Writer, r store.Report, digests, repair bool) {
	fmt.Fprintf(w, "catalog    %s\nruns       %d\nreferences %d to blobs, %d problems\n", r.CatalogID, r.Runs, r.References, r.Problems)
	if digests {
		fmt.Fprintf(w, "verified   %d blobs\n", r.Verified)
	}
	if repair {
		fmt.Fprintf(w, "repaired   %d blobs\n", r.Repaired)
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(w, "elsewhere  %d references of runs of other hosts or roots to blobs of theirs\n", r.Elsewhere)
	}
	fmt.Fprintf(w, "orphans    %d blobs that no run names, %s\n", r.Orphans, units.BytesSize(float64(r.OrphanBytes)))
}

func newCatalogCopy(p *command.Program) *cli.Command {
	o := &copyOptions{}
	return &cli.Command{
		Name:      "copy",
		Usage:     "copy a catalog into another, as from SQLite into PostgreSQL",
		UsageText: "scidex-oci catalog copy --from URL --to URL [--from-blobs URL] [--to-blobs URL] [--json]",
		Description: `All ended runs are copied, with what belongs to them, read back and compared. A copy that was interrupted is
finished by another. Where both catalogs use one blob store, it is handed to the new one at the end: the old
one can be read, but nothing writes to it any more. So no run may be under way then. With another store in
--to-blobs the blobs are copied too, runs that have not ended are left out, and the old catalog stays in use.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			if err := p.Load(c); err != nil {
				return err
			}
			return runCatalogCopy(c.Context, p, *o)
		},
	}
}

// copyOptions are the options of catalog copy.
type copyOptions struct {
	from, to, fromBlobs, toBlobs options.Text
	json                         bool
}

func (o *copyOptions) flags() []cli.Flag {
	return options.List(
		options.Given(&o.from, "from", "copy the catalog at `URL`"),
		options.Given(&o.to, "to", "copy into the catalog at `URL`, which is made where there is none"),
		options.Given(&o.fromBlobs, "from-blobs", "the blob store of --from is at `URL` (default: that of --blobs)"),
		options.Given(&o.toBlobs, "to-blobs", "the blob store of --to is at `URL` (default: that of --from)"),
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func runCatalogCopy(ctx context.Context, p *command.Program, o copyOptions) error {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return err
	}
	if !o.from.Given || !o.to.Given {
		return command.Usagef("catalog copy needs --from URL and --to URL")
	}
	source, err := stores.OpenPair(ctx, o.from, o.fromBlobs, s)
	if err != nil {
		return err
	}
	defer source.Catalog.Close()
	s.Blobs = source.Place
	target, err := stores.OpenPair(ctx, o.to, o.toBlobs, s)
	if err != nil {
		return err
	}
	copied, err := store.Copy(ctx, source.Store, target.Store)
	for _, key := range copied.NotEnded {
		fmt.Fprintf(p.Stderr, "left out   %s, which has not ended\n", screen.Escape(key.String()))
	}
	if err := errors.Join(err, target.Catalog.Close()); err != nil {
		return err
	}
	if o.json {
		return screen.WriteJSON(p.Stdout, copied)
	}
	printCopied(p.Stdout, copied)
	return nil
}

func printCopied(w io.Writer, c store.Copied) {
	fmt.Fprintf(w, "copied     %d runs, %d were there; %d entries compared\n", c.Runs, c.Already, c.Outputs)
	if c.Selftests > 0 {
		fmt.Fprintf(w, "           %d reports of selftests\n", c.Selftests)
	}
	if c.TookOver {
		fmt.Fprintf(w, "blobs      the store now belongs to catalog %s\n", c.CatalogID)
	} else {
		fmt.Fprintf(w, "blobs      %d copied, %s\n", c.Blobs, units.BytesSize(float64(c.BlobBytes)))
	}
}
