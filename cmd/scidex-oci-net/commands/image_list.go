package commands

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

func newImageList(p *command.Program) *cli.Command {
	o := &imageListOptions{}
	return &cli.Command{
		Name:      "ls",
		Usage:     "list images by name",
		UsageText: "scidex-oci image ls [--json] [--quiet]",
		Description: `SIZE is what the image takes as it was pulled or imported; what two images have in common is stored once.
UNPACKED is what its root filesystem takes. With --json a line is an object with the name, the "reference"
and manifest "digest" of the image, its platform, "created_at", "size" and "rootfs_size" in bytes,
"rootfs_files", and the "rootfs_digest" and "packages_digest" that results of runs have; what is not known
is null.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			if err := p.Load(c); err != nil {
				return err
			}
			return listImages(p, *o)
		},
	}
}

// imageListOptions are the options of image ls.
type imageListOptions struct {
	json, quiet bool
}

func (o *imageListOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.json, "json", "one JSON object a line"),
		options.Bool(&o.quiet, "quiet", "names only, for other commands", "q"),
	)
}

func listImages(p *command.Program, o imageListOptions) error {
	s, err := command.OpenImages(p)
	if err != nil {
		return err
	}
	images, unread := s.List()
	switch {
	case o.json:
		err = printImagesJSON(p.Stdout, images)
	case o.quiet:
		err = printImageNames(p.Stdout, images)
	default:
		err = printImageTable(p.Stdout, images)
	}
	return errors.Join(err, unread)
}

func printImagesJSON(w io.Writer, images []image.Image) error {
	for _, one := range images {
		if err := screen.WriteJSON(w, shownOf(one)); err != nil {
			return err
		}
	}
	return nil
}

func printImageNames(w io.Writer, images []image.Image) error {
	for _, one := range images {
		if _, err := fmt.Fprintln(w, screen.Escape(one.Name)); err != nil {
			return err
		}
	}
	return nil
}

func printImageTable(w io.Writer, images []image.Image) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "NAME\tDIGEST\tCREATED\tSIZE\tUNPACKED\tFILES")
	for _, one := range images {
		created, unpacked := "-", "-"
		if one.Created != nil {
			created = screen.LocalTime(*one.Created)
		}
		if one.RootDigest != "" {
			unpacked = format.Size(one.RootSize)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\n", screen.Escape(one.Name), format.ShortDigest(one.Digest.Encoded()), created, format.Size(one.Size), unpacked, one.RootFiles)
	}
	return tw.Flush()
}
