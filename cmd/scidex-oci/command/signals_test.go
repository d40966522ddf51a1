package command

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

func TestStops(t *testing.T) {
	// A shell starts what it puts into the background with SIGINT ignored, nohup with SIGHUP; what is handled is not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP)
	stop, done := StopSignals()
	defer done()
	for _, test := range []struct {
		signal syscall.Signal
		want   request.StopSignal
	}{
		{syscall.SIGINT, request.StopSignal{ExitCode: 130, Name: "SIGINT"}},
		{syscall.SIGQUIT, request.StopSignal{ExitCode: 131, Name: "SIGQUIT"}},
		{syscall.SIGTERM, request.StopSignal{ExitCode: 143, Name: "SIGTERM"}},
		{syscall.SIGHUP, request.StopSignal{ExitCode: 129, Name: "SIGHUP"}},
	} {
		if err := syscall.Kill(os.Getpid(), test.signal); err != nil {
			t.Fatal(err)
		}
		if got := <-stop; got != test.want {
			t.Errorf("got %+v, want %+v", got, test.want)
		}
	}
}

// The Go runtime lets a write to a closed standard output kill the process, and only that, so the test
// needs a process of its own.
func TestAClosedStandardOutputDoesNotKill(t *testing.T) {
	const survived = 7
	if os.Getenv("SCIDEX_OCI_TEST_CLOSED_STDOUT") != "" {
		_, done := StopSignals()
		defer done()
		out := screen.NewStream(os.Stdout, screen.NoTerminal(os.Stderr))
		for range 3 {
			_, _ = out.Write([]byte("x"))
		}
		if _, err := os.Stdout.Write([]byte("x")); out.Close() == nil && errors.Is(err, syscall.EPIPE) {
			os.Exit(survived)
		}
		os.Exit(1)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestAClosedStandardOutputDoesNotKill$")
	child.Env = append(os.Environ(), "SCIDEX_OCI_TEST_CLOSED_STDOUT=1")
	child.Stdout = w
	err = child.Run()
	w.Close()
	if child.ProcessState.ExitCode() != survived {
		t.Errorf("the child ended with %v (%v)", child.ProcessState, err)
	}
}
