// Package netcmds has the commands of scidex-oci-net, a file for each of most, and the drivers of stores on other hosts.
package netcmds

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/dockercmd"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/imagecmd"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/mcpcmd"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/queuecmd"
	_ "github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers/remote" // registers them
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/tablecmd"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack/decoders"
)

// New makes the commands that scidex-oci has as entries only.
func New(p *command.Program) []*cli.Command {
	unpack.Register(decoders.Decode)
	return []*cli.Command{
		mcpcmd.New(p), queuecmd.NewSubmit(p), queuecmd.NewWorker(p), queuecmd.New(p), tablecmd.New(p), newReport(p), newUI(p), dockercmd.New(p), imagecmd.New(p),
		{Name: "outputs", Subcommands: []*cli.Command{newPush(p)}},
		newDecompress(p), newExportSpans(p), newProxy(p), newSign(p), newKey(p), newVerify(p),
	}
}
