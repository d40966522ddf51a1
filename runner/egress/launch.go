package egress

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/egress/confine"
	"github.com/scidex-ai/scidex-oci/runner/host/helper"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Process is the running proxy of a run.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	words *bounded.Buffer // what it says when it fails
	done  chan struct{}   // closed when its output has ended
}

// Start starts the proxy of a run on a socket that listens in the run's network namespace, and waits until it serves. It calls each for
// every request that has ended, from one goroutine. The proxy has no descriptor of this process but that and its streams, and no
// variable of it; it ends with Stop, or with this process.
func (p Policy) Start(listener *os.File, config Config, each func(result.Request)) (*Process, error) {
	if p.Program == nil {
		return nil, errors.New("this program has no proxy")
	}
	program, err := p.Program()
	if err != nil {
		return nil, err
	}
	defer program.Close()
	if config, err = p.complete(config); err != nil {
		return nil, err
	}
	x := &Process{cmd: exec.Command(inode.ProcPath(program), Command), words: helper.Stderr(), done: make(chan struct{})}
	x.cmd.Args[0], x.cmd.Env, x.cmd.Dir = "scidex-oci-net", []string{}, "/"
	x.cmd.ExtraFiles, x.cmd.Stderr = []*os.File{listener}, x.words
	x.cmd.SysProcAttr = confine.Attributes(os.Getuid(), os.Getgid())
	stdin, err := x.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	x.stdin = stdin
	stdout, err := x.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := x.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the proxy of requests: %w", err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxRecord)
	if err := greet(stdin, lines, config); err != nil {
		close(x.done)
		return nil, fmt.Errorf("the proxy of requests: %w", x.explain(err))
	}
	go x.read(lines, each)
	return x, nil
}

// complete adds what the operator and the caller decide.
func (p Policy) complete(config Config) (Config, error) {
	hosts, err := spec.ParseHosts(config.Hosts)
	if err != nil {
		return config, err
	}
	config.Deny, config.Own = p.Deny, p.own()
	config.Inject, err = p.withValues(hosts)
	return config, err
}

func greet(to io.Writer, from *bufio.Scanner, config Config) error {
	if err := json.NewEncoder(to).Encode(config); err != nil {
		return err
	}
	if !from.Scan() {
		return cmp.Or(from.Err(), io.ErrUnexpectedEOF)
	}
	if got := from.Text(); got != Ready {
		return fmt.Errorf("it said %q", got)
	}
	return nil
}

// read passes the records on until the proxy's end. One that says anything else, or too much, is not trusted any further.
func (x *Process) read(lines *bufio.Scanner, each func(result.Request)) {
	defer close(x.done)
	defer func() { _ = x.cmd.Process.Kill() }() // it has ended, but for one that is not trusted
	for n := 0; n < 2*MaxRequests && lines.Scan(); n++ {
		var r result.Request
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			return
		}
		each(r)
	}
}

// ended reports whether it has ended by itself.
func (x *Process) ended() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// lastRecords is how long a proxy may take to end, which closes its connections at once.
const lastRecords = 30 * time.Second

// Stop ends the proxy and waits until each was called for all its requests. The error is why it had ended before, or did not end by
// itself. A nil process has none.
func (x *Process) Stop() error {
	if x == nil {
		return nil
	}
	early := x.ended()
	x.stdin.Close()
	late := time.AfterFunc(lastRecords, func() { _ = x.cmd.Process.Kill() })
	<-x.done
	err := x.cmd.Wait()
	switch {
	case early:
		return fmt.Errorf("ended before the analysis, which could send none from then on: %w", helper.Failure(cmp.Or(err, errors.New("exit status 0")), x.words))
	case !late.Stop():
		return errors.New("did not end, and was killed: requests may be missing in the list")
	}
	return nil
}

// explain ends a proxy that does not serve.
func (x *Process) explain(err error) error {
	x.stdin.Close()
	_ = x.cmd.Process.Kill()
	_ = x.cmd.Wait()
	return helper.Failure(err, x.words)
}
