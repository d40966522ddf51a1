package app

import (
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

// TestNetEntries: the help of scidex-oci says what that of scidex-oci-net says.
func TestNetEntries(t *testing.T) {
	entries := compareEntries(t, newApp(&command.Program{}).Commands, newApp(wholeProgram()).Commands)
	p := wholeProgram()
	newApp(p)
	if net := p.Net(p); entries != len(net) {
		t.Errorf("%d entries for %d commands", entries, len(net))
	}
}

// compareEntries compares the commands of both, and counts those that are only entries.
func compareEntries(t *testing.T, core, whole []*cli.Command) (entries int) {
	t.Helper()
	for i, entry := range core {
		if entry.Name != whole[i].Name || entry.Usage != whole[i].Usage {
			t.Errorf("the entry is %s %q, the command %s %q", entry.Name, entry.Usage, whole[i].Name, whole[i].Usage)
		}
		switch {
		case whole[i].Action == nil && len(whole[i].Subcommands) == 0:
			t.Errorf("scidex-oci-net does not have %s", entry.Name)
		case len(entry.Subcommands) > 0:
			entries += compareEntries(t, entry.Subcommands, whole[i].Subcommands)
		case entry.Action == nil:
			entries++
		}
	}
	return entries
}
