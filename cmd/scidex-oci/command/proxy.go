package command

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/runner/egress"
)

// ProxyEntry is the entry of the hidden command of scidex-oci-net that forwards the requests of a run.
func ProxyEntry() *cli.Command {
	entry := NetEntry(egress.Command, "")
	entry.Hidden = true
	return entry
}

// OpenNet opens scidex-oci-net, which this may be, to have it called for runs.
func (p *Program) OpenNet() (*os.File, error) {
	if p.Net != nil {
		return os.Open("/proc/self/exe")
	}
	return openNet()
}
