package command

import (
	"errors"
	"fmt"
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

// The third signal ends the process, so the test needs one of its own. Those for one run do not count.
func TestOnStopSignals(t *testing.T) {
	if os.Getenv("SCIDEX_OCI_TEST_STOP_SIGNALS") != "" {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP)
		heard := make(chan string)
		forOne := func(s request.StopSignal) bool {
			if s.Name == "SIGHUP" {
				heard <- "one"
			}
			return s.Name == "SIGHUP"
		}
		OnStopSignals(forOne, func(s request.StopSignal) { heard <- "drain " + s.Name }, func(s request.StopSignal) { heard <- "hurry " + s.Name })
		for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGINT} {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Fatal(err)
			}
			fmt.Println(<-heard) // nothing after the last
		}
	}
	child := exec.Command(os.Args[0], "-test.run=^TestOnStopSignals$")
	child.Env = append(os.Environ(), "SCIDEX_OCI_TEST_STOP_SIGNALS=1")
	out, _ := child.Output()
	const want = "one\ndrain SIGTERM\none\nhurry SIGQUIT\none\n"
	if code := child.ProcessState.ExitCode(); code != 130 || string(out) != want {
		t.Errorf("exit code %d after %q, want 130 after %q", code, out, want)
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
