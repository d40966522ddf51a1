package commands

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

func newImageImport(p *command.Program) *cli.Command {
	o := &imageImportOptions{}
	return &cli.Command{
		Name:      "import",
		Usage:     "make an OCI layout, an archive of an image or a tar of a root filesystem an image",
		UsageText: "scidex-oci image import PATH --name NAME [--tag TAG] [--json]",
		ArgsUsage: "PATH",
		Description: `PATH is the directory of an OCI image layout, the same as a tar, what "docker save" or "podman save" writes,
or a tar of a root filesystem, as mmdebstrap makes it. Tars may be compressed by gzip or zstd. What it is is
recognized by its contents. A tar of a root filesystem becomes an image of one layer.

` + aboutImport,
		Flags: o.flags(),
		Action: p.Loaded(1, 1, func(ctx context.Context, given []string) error {
			return importImage(ctx, p, *o, given[0])
		}),
	}
}

// imageImportOptions are the options of image import.
type imageImportOptions struct {
	name, tag string
	json      bool
}

func (o *imageImportOptions) flags() []cli.Flag {
	return options.List(
		options.String(&o.name, "name", "the `NAME` of the image for --rootfs: a-z, 0-9, '.', '_', '-', or a reference; \"host\" is taken"),
		options.String(&o.tag, "tag", "import the image `TAG` of several that are in PATH"),
		options.Bool(&o.json, "json", "print progress and the image as JSON lines"),
	)
}

func importImage(ctx context.Context, p *command.Program, o imageImportOptions, path string) error {
	if o.name == "" {
		return command.Usagef("image import needs --name NAME")
	}
	if err := image.CheckName(o.name); err != nil {
		return command.Usagef("--name: %s", err)
	}
	return addImage(ctx, p, o.json, func(ctx context.Context, s *image.Store, view progressView) (image.Imported, error) {
		return s.Import(ctx, path, image.Options{Name: o.name, Tag: o.tag, Progress: view.show})
	})
}
