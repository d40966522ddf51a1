package command

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// SignEntry is the entry of the hidden command of scidex-oci-net that signs the statements of runs.
func SignEntry() *cli.Command {
	entry := NetEntry(signing.Command, "")
	entry.Hidden = true
	return entry
}
