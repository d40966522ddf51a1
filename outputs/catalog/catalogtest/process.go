package catalogtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// The environment of a process started from the test binary.
const (
	envRole    = "CATALOGTEST_ROLE"
	envAddress = "CATALOGTEST_ADDRESS"
	envName    = "CATALOGTEST_NAME"
)

// processRuns is how many runs a process of the role "commit" makes.
const processRuns = 5

// Main is the TestMain of a package that runs the suite.
func Main(m *testing.M, d Driver) {
	Play(d)
	os.Exit(m.Run())
}

// Play is for a custom TestMain: in a process started by the suite it plays that process' role and exits, in others it does
// nothing.
func Play(d Driver) {
	role := os.Getenv(envRole)
	if role == "" {
		return
	}
	if err := play(d, role, os.Getenv(envAddress), os.Getenv(envName)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play is one process: it reports readiness, waits for the end of its standard input, and plays its role.
func play(d Driver, role, address, name string) (err error) {
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	ctx := context.Background()
	c, err := d.Open(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	switch role {
	case "open":
		id, err := c.CatalogID(ctx)
		fmt.Println(id)
		return err
	case "commit":
		return commitSome(ctx, c, name, processRuns)
	case "forever":
		for i := 0; ; i++ {
			id := fmt.Sprintf("%s-%d", name, i)
			if err := commitOne(ctx, c, id); err != nil {
				return err
			}
			fmt.Println(id)
		}
	case "stall":
		return stall(ctx, c, name)
	default:
		return fmt.Errorf("unknown role %q", role)
	}
}

// stall blocks in the middle of a commit.
func stall(ctx context.Context, c catalog.Catalog, name string) error {
	run := intent(name, 1)
	if err := c.Create(ctx, run); err != nil {
		return err
	}
	i := 0
	return c.Commit(ctx, ended(run), func() (outputs.Entry, error) {
		if i++; i > 3000 { // more than a page cache, so that some of it is on disk
			fmt.Println("stalled")
			time.Sleep(time.Hour) // select {} is a deadlock to the runtime, which ends the process
		}
		return file(fmt.Sprintf("%s/%d", name, i)), nil
	})
}

// process is a child of the test.
type process struct {
	cmd    *exec.Cmd
	start  io.Closer // closing it starts the role
	lines  *bufio.Scanner
	stderr *strings.Builder
}

// spawn starts a process that is ready to play its role.
func spawn(t *testing.T, role, address, name string) *process {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	p := &process{cmd: exec.CommandContext(t.Context(), self), stderr: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), envRole+"="+role, envAddress+"="+address, envName+"="+name)
	p.cmd.Stderr = p.stderr
	p.start, err = p.cmd.StdinPipe()
	must(t, err)
	stdout, err := p.cmd.StdoutPipe()
	must(t, err)
	p.lines = bufio.NewScanner(stdout)
	must(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // no effect if it has ended
		_ = p.cmd.Wait()
	})
	p.wantLine(t, "ready")
	return p
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		_ = p.cmd.Wait()
		t.Fatalf("the process ended: %s", p.stderr)
	}
	return p.lines.Text()
}

func (p *process) wantLine(t *testing.T, want string) {
	t.Helper()
	if got := p.line(t); got != want {
		t.Fatalf("the process said %q, want %q", got, want)
	}
}

// wait waits for the end of the role and returns the rest of its output.
func (p *process) wait(t *testing.T) (rest []string) {
	t.Helper()
	for p.lines.Scan() {
		rest = append(rest, p.lines.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("process: %v: %s", err, p.stderr)
	}
	return rest
}

// kill ends the process with SIGKILL and returns its other output.
func (p *process) kill(t *testing.T) (rest []string) {
	t.Helper()
	must(t, p.cmd.Process.Kill())
	for p.lines.Scan() {
		rest = append(rest, p.lines.Text())
	}
	if err := p.cmd.Wait(); err == nil {
		t.Error("the process ended before it was killed")
	}
	return rest
}
