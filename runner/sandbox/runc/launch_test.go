package runc

import (
	"errors"
	"os"
	"testing"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	supervise "github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	supervise.Main()
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) { sandboxtest.Run(t, Launch) }

// TestKilledBeforeItHasIDs: its death is told, and not that of its files in /proc, also where its end of the connection is
// not closed yet.
func TestKilledBeforeItHasIDs(t *testing.T) {
	c, end, err := protocol.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	s := &supervisor{session: newSession(c, &process{account: sandboxtest.Account(t), done: make(chan struct{}), last: bounded.Tail(lastSize)}, true)}
	child, err := s.clone(end)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.process.done
	if err := s.begin(t.Context(), child, program{path: itself}); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("it says %v, want ErrLost", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
