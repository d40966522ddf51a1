package commands

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

// newImage makes the command image.
func newImage(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "image",
		Usage:       "pull, import, list and remove images of root filesystems",
		UsageText:   "scidex-oci image pull|import|ls|rm",
		Subcommands: []*cli.Command{newImagePull(p), newImageImport(p), newImageList(p), newImageRemove(p)},
	}
}

// aboutImport is what pull and import have in common.
const aboutImport = `The image is verified and unpacked before it gets its name: one that is damaged, hostile or for another
platform is refused, and whatever had the name keeps it. Runs share the unpacked root, which they cannot
change. The same image once more changes nothing, but repairs a root that was damaged.

On a terminal bars on standard error show how far it is. With --json a line {"type":"progress", ...} tells
it for every blob, phase and half second, with bytes in "done" and "total"; the last line, {"type":"image",
...}, is the image.`

// shownImage is an image in --json: unknown fields are null.
type shownImage struct {
	Name           string     `json:"name"`
	Reference      string     `json:"reference"`
	Digest         string     `json:"digest"`
	Platform       string     `json:"platform"`
	CreatedAt      *time.Time `json:"created_at"`
	Size           int64      `json:"size"`
	RootfsDigest   *string    `json:"rootfs_digest"`
	RootfsSize     int64      `json:"rootfs_size"`
	RootfsFiles    int64      `json:"rootfs_files"`
	PackagesDigest *string    `json:"packages_digest"`
}

func shownOf(one image.Image) shownImage {
	return shownImage{
		Name: one.Name, Reference: one.Reference, Digest: one.Digest.String(), Platform: one.Platform, CreatedAt: one.Created,
		Size: one.Size, RootfsDigest: knownOrNil(one.RootDigest.String()), RootfsSize: one.RootSize, RootfsFiles: one.RootFiles,
		PackagesDigest: knownOrNil(one.PackagesDigest.String()),
	}
}

// knownOrNil is nil for an unknown value.
func knownOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
