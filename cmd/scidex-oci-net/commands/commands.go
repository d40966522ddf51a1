// Package commands has the commands of scidex-oci-net, a file for each or for a group of one word.
package commands

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/docker"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/mcp"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	_ "github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers/remote" // registers them
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack/decoders"
)

// New makes the commands that scidex-oci has as entries only.
func New(p *command.Program) []*cli.Command {
	unpack.Register(decoders.Decode)
	return []*cli.Command{
		mcp.New(p), newSubmit(p), newWorker(p), newQueue(p), newTable(p), newReport(p), newUI(p), docker.New(p), newImage(p),
		{Name: "outputs", Subcommands: []*cli.Command{newPush(p)}},
		newDecompress(p), newExportSpans(p), newProxy(p), newSign(p), newKey(p), newVerify(p),
	}
}
