package app

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

// TestNetEntries: the help of scidex-oci says what that of scidex-oci-net says.
func TestNetEntries(t *testing.T) {
	core, whole := newApp(&command.Program{}).Commands, newApp(wholeProgram()).Commands
	entries := 0
	for i, entry := range core {
		if entry.Name != whole[i].Name || entry.Usage != whole[i].Usage {
			t.Errorf("the entry is %s %q, the command %s %q", entry.Name, entry.Usage, whole[i].Name, whole[i].Usage)
		}
		if entry.Action == nil && len(entry.Subcommands) == 0 {
			entries++
		}
		if whole[i].Action == nil && len(whole[i].Subcommands) == 0 {
			t.Errorf("scidex-oci-net does not have %s", entry.Name)
		}
	}
	p := wholeProgram()
	newApp(p)
	if net := p.Net(p); entries != len(net) {
		t.Errorf("%d entries for %d commands", entries, len(net))
	}
}
