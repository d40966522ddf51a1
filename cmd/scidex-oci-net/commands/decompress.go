package commands

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack/decoders"
)

// newDecompress makes the command by which scidex-oci has streams decompressed (command.DecompressByNet).
func newDecompress(p *command.Program) *cli.Command {
	c := command.DecompressEntry()
	c.Action = func(*cli.Context) error {
		plain, err := decoders.Decode(p.Stdin)
		if err != nil {
			return err
		}
		defer plain.Close()
		_, err = io.Copy(p.Stdout, plain)
		return err
	}
	return c
}
