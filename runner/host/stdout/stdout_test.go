package stdout

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestClosed starts this program anew with standard streams closed.
func TestClosed(t *testing.T) {
	const failed = 7
	if os.Getenv("STDOUT_TEST") != "" {
		if _, err := os.Stdout.WriteString("x"); errors.Is(err, syscall.EBADF) {
			os.Exit(failed)
		}
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for redirections, want := range map[string]int{
		">&-": failed, "<&- >&-": failed, "<&- >&- 2>&-": failed, "": 0, ">/dev/null": 0, "<&-": 0, "2>&-": 0,
	} {
		cmd := exec.Command("sh", "-c", `exec "$0" -test.run='^TestClosed$' `+redirections, self)
		cmd.Env = append(os.Environ(), "STDOUT_TEST=1")
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("%q: exit code %d, want %d (%v)", redirections, cmd.ProcessState.ExitCode(), want, err)
		}
	}
}
