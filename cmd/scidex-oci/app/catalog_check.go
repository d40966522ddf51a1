package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/store"
)

func newCatalogCheck(p *command.Program) *cli.Command {
	o := &catalogCheckOptions{}
	return &cli.Command{
		Name:      "check",
		Usage:     "compare the rows of the catalog with the blobs",
		UsageText: "scidex-oci catalog check [--digests] [--repair] [--json]",
		Description: `Every blob that an output, log or script of a run names must be there, those of outputs with the size of
the row. Runs of other hosts, and of other roots of this one, may have their blobs in stores of those. Blobs that
no run names are counted. It changes nothing, unless it is to repair.

--repair puts back what is damaged or missing from copies on this host whose digest is right: if the blob store is
a bucket, from what is kept of it here, and of each run from the root that it was started with, its kept directory, its
--export directory and its script. Logs have no other copy. What could not be repaired is reported.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return p.WithStores(c, func(st *stores.Stores) error { return checkCatalog(c.Context, p, st, *o) })
		},
	}
}

// catalogCheckOptions are the options of catalog check.
type catalogCheckOptions struct {
	digests, repair, json bool
}

func (o *catalogCheckOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.digests, "digests", "read every blob and verify its digest, and check the structure of a SQLite file"),
		options.Bool(&o.repair, "repair", "replace what is damaged or missing from copies on this host"),
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func checkCatalog(ctx context.Context, p *command.Program, st *stores.Stores, o catalogCheckOptions) error {
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
		err = errors.Join(err, fmt.Errorf("%s found in the catalog; see above", format.Count(report.Problems, "problem", "problems")))
	}
	return err
}

func printChecked(w io.Writer, r store.Report, digests, repair bool) {
	fmt.Fprintf(w, "catalog    %s\nruns       %d\nreferences %d to blobs, %s\n", r.CatalogID, r.Runs, r.References, format.Count(r.Problems, "problem", "problems"))
	if digests {
		fmt.Fprintf(w, "verified   %s\n", format.Count(r.Verified, "blob", "blobs"))
	}
	if repair {
		fmt.Fprintf(w, "repaired   %s\n", format.Count(r.Repaired, "blob", "blobs"))
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(w, "elsewhere  %d references of runs of other hosts or roots to blobs of theirs\n", r.Elsewhere)
	}
	fmt.Fprintf(w, "orphans    %s that no run names, %s\n", format.Count(r.Orphans, "blob", "blobs"), format.Size(r.OrphanBytes))
}
