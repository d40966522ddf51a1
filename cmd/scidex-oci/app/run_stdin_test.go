package app

import (
	"os"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/spec"
)

// A shell alone on a terminal is one that a person wants to type into.
func TestIdleShell(t *testing.T) {
	terminal, err := openPTY()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Slave.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, test := range []struct {
		stdin   *os.File
		command []string
		want    string
	}{
		{terminal.Slave, []string{"bash"}, "bash"},
		{terminal.Slave, []string{"/bin/sh"}, "/bin/sh"},
		{terminal.Slave, []string{"sh", "-c", "true"}, ""},
		{terminal.Slave, []string{"python3"}, ""},
		{null, []string{"bash"}, ""},
	} {
		s := &invocation{program: &command.Program{Stdin: test.stdin}}
		s.request.Analysis = spec.Analysis{Command: test.command}
		if got := s.idleShell(); got != test.want {
			t.Errorf("%q: %q, want %q", test.command, got, test.want)
		}
	}
}
