package probe

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
)

func TestMain(m *testing.M) {
	Main(func() []Probe {
		return []Probe{
			{Name: "good", Do: func() (string, error) { return "seen", nil }},
			{Name: "refused", Do: func() (string, error) { return "", &os.PathError{Op: "mount", Path: "/x", Err: unix.EPERM} }},
			{Name: "dies", Do: func() (string, error) { println("the reason\nmore"); os.Exit(3); return "", nil }},
			{Name: "hangs", Do: func() (string, error) { time.Sleep(time.Hour); return "", nil }},
		}
	})
	os.Exit(m.Run())
}

// The answer of a child is what it saw, its error with the errno, or how it ended.
func TestRunInAChild(t *testing.T) {
	run := func(ctx context.Context, name string) (string, error) {
		return Probe{Name: name}.Run(ctx, idmap.Account{})
	}
	if seen, err := run(t.Context(), "good"); seen != "seen" || err != nil {
		t.Errorf("%q, %v", seen, err)
	}
	if _, err := run(t.Context(), "refused"); !errors.Is(err, unix.EPERM) || err.Error() != "mount /x: operation not permitted" {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{
		"dies":    "a process of ours that tried it ended: exit status 3: the reason",
		"no.such": `there is no trial "no.such"`,
	} {
		if _, err := run(t.Context(), name); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ended, "good"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A child that does not answer ends with the context.
func TestHangingChild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := start(ctx, &syscall.SysProcAttr{}, probeName, "hangs")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if _, err := c.answer(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("%v", err)
	}
}

// A child whose ids are not mapped ends when this process gives up.
func TestChildWithoutMaps(t *testing.T) {
	c, err := start(t.Context(), &syscall.SysProcAttr{}, waitName, "good")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.stdin.Close() // no maps will be written
	if _, err := c.answer(t.Context()); err == nil || !strings.Contains(err.Error(), "ended: exit status 1") {
		t.Errorf("%v", err)
	}
}
