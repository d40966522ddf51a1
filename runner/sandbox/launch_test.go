package sandbox

import (
	"errors"
	"os"
	"testing"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor"
)

func TestMain(m *testing.M) {
	supervisor.Main()
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
	account, err := idmap.ReadAccount()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Launch(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.host.process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Clean(os.Stdout, false, nil); !errors.Is(err, ErrLost) {
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
	s := &Supervisor{Session: newSession(c, &host{done: make(chan struct{}), last: bounded.Tail(lastSize)}, true), account: account}
	child, err := s.clone(end)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.host.done
	if err := s.begin(t.Context(), child, program{path: itself}); !errors.Is(err, ErrLost) {
		t.Errorf("it says %v, want ErrLost", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
