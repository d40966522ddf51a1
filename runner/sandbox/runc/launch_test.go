package runc

import (
	"errors"
	"os"
	"testing"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	process "github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor"
)

func TestMain(m *testing.M) {
	process.Main()
	os.Exit(m.Run())
}

func TestLaunchAndClose(t *testing.T) {
	account, err := idmap.ReadAccount()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Launch(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Alive() {
		t.Error("a supervisor that is ready is not alive")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Alive() {
		t.Error("a closed supervisor is alive")
	}
}

func TestKilledSupervisorIsLost(t *testing.T) {
	s := launched(t)
	if err := s.host.process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Clean(os.Stdout, false, nil); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("after a kill Clean says %v, want ErrLost", err)
	}
}

// TestKilledBeforeItHasIDs: its death is told, and not that of its files in /proc, also where its end of the connection is
// not closed yet.
func TestKilledBeforeItHasIDs(t *testing.T) {
	account, err := idmap.ReadAccount()
	if err != nil {
		t.Fatal(err)
	}
	c, end, err := protocol.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	s := &supervisor{session: newSession(c, &host{account: account, done: make(chan struct{}), last: bounded.Tail(lastSize)}, true)}
	child, err := s.clone(end)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.host.done
	if err := s.begin(t.Context(), child, program{path: itself}); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("it says %v, want ErrLost", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
