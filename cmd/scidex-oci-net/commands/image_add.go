package commands

import (
	"context"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

// addImage adds an image to the store with a progress display, and prints it.
func addImage(ctx context.Context, p *command.Program, asJSON bool, get func(context.Context, *image.Store, progressView) (image.Imported, error)) error {
	return command.UntilStopped(ctx, func(ctx context.Context) error {
		s, err := command.OpenImages(p)
		if err != nil {
			return err
		}
		view := newProgressView(p, asJSON)
		added, err := get(ctx, s, view)
		view.end(err == nil)
		if err != nil {
			return err
		}
		if asJSON {
			return screen.WriteJSON(p.Stdout, struct {
				Type string `json:"type"`
				shownImage
				Unchanged bool    `json:"unchanged"`
				Repaired  bool    `json:"repaired"`
				Replaced  *string `json:"replaced"`
			}{"image", shownOf(added.Image), added.Unchanged, added.Repaired, knownOrNil(added.Replaced.String())})
		}
		printImported(p.Stdout, added)
		return nil
	})
}

func printImported(w io.Writer, added image.Imported) {
	t := screen.Table{W: w}
	t.Row("image", screen.Escape(added.Name))
	t.Row("reference", screen.Escape(added.Reference))
	t.Row("rootfs", added.RootDigest.String())
	t.Row("packages", added.PackagesDigest.String())
	t.Row("size", fmt.Sprintf("%s, unpacked %s in %d files and directories", format.Size(added.Size), format.Size(added.RootSize), added.RootFiles))
	switch {
	case added.Unchanged:
		t.Row("note", "the image was there already; nothing was changed")
	case added.Repaired:
		t.Row("note", "the unpacked root was damaged or missing and has been made again")
	case added.Replaced != "":
		t.Row("note", "the name referred to "+added.Replaced.String()+" before")
	}
}
