package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/store"
)

func newCatalogCopy(p *command.Program) *cli.Command {
	o := &catalogCopyOptions{}
	return &cli.Command{
		Name:      "copy",
		Usage:     "copy a catalog into another, as from SQLite into PostgreSQL",
		UsageText: "scidex-oci catalog copy --from URL --to URL [--from-blobs URL] [--to-blobs URL] [--json]",
		Description: `All ended runs are copied, with what belongs to them, read back and compared. A copy that was interrupted is
finished by another. If both catalogs use one blob store, it is handed to the new one at the end: the old
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
			return copyCatalog(c.Context, p, *o)
		},
	}
}

// catalogCopyOptions are the options of catalog copy.
type catalogCopyOptions struct {
	from, to, fromBlobs, toBlobs options.Text
	json                         bool
}

func (o *catalogCopyOptions) flags() []cli.Flag {
	return options.List(
		options.Given(&o.from, "from", "copy the catalog at `URL`"),
		options.Given(&o.to, "to", "copy into the catalog at `URL`, which is made if there is none"),
		options.Given(&o.fromBlobs, "from-blobs", "the blob store of --from is at `URL` (default: that of --blobs)"),
		options.Given(&o.toBlobs, "to-blobs", "the blob store of --to is at `URL` (default: that of --from)"),
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func copyCatalog(ctx context.Context, p *command.Program, o catalogCopyOptions) error {
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
	s.Blobs = source.Location
	target, err := stores.OpenPair(ctx, o.to, o.toBlobs, s)
	if err != nil {
		return err
	}
	selftests, err := store.CopySelftests(ctx, source.Selftests, target.Selftests)
	if err != nil {
		return errors.Join(err, target.Catalog.Close())
	}
	copied, err := store.Copy(ctx, source.Store, target.Store)
	copied.Selftests = selftests
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
	fmt.Fprintf(w, "copied     %s, %d were there; %s compared\n", format.Count(c.Runs, "run", "runs"), c.Already, format.Count(c.Outputs, "entry", "entries"))
	if c.Selftests > 0 {
		fmt.Fprintf(w, "           %s of selftests\n", format.Count(c.Selftests, "report", "reports"))
	}
	if c.TookOver {
		fmt.Fprintf(w, "blobs      the store now belongs to catalog %s\n", c.CatalogID)
	} else {
		fmt.Fprintf(w, "blobs      %d copied, %s\n", c.Blobs, format.Size(c.BlobBytes))
	}
}
