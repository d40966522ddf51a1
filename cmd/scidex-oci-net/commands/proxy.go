package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/runner/egress/confine"
	"github.com/scidex-ai/scidex-oci/runner/egress/proxy"
)

// newProxy makes the command that sends a run's requests on (egress.Policy.Start). It ends with its standard input.
func newProxy(p *command.Program) *cli.Command {
	c := command.ProxyEntry()
	c.Action = func(c *cli.Context) error {
		in := bufio.NewReader(p.Stdin)
		served, err := prepareProxy(c.Context, in, p.Stdout)
		if err != nil {
			return err
		}
		listener, err := net.FileListener(os.NewFile(egress.ListenerFD, "listener"))
		if err != nil {
			return fmt.Errorf("the run's socket: %w", err)
		}
		if err := confine.Enter(); err != nil {
			return err
		}
		if _, err := io.WriteString(p.Stdout, egress.Ready+"\n"); err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(io.Discard, in) // up to its end, in whatever way it comes
			listener.Close()
		}()
		return served.Serve(listener)
	}
	return c
}

// prepareProxy makes the proxy of a configuration, as long as this process sees the host.
func prepareProxy(ctx context.Context, in *bufio.Reader, out io.Writer) (*proxy.Proxy, error) {
	var config egress.Config
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &config)
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	network, err := proxy.Outside(ctx, config)
	if err != nil {
		return nil, err
	}
	return proxy.New(config, network, recorder(out))
}

// recorder writes records as lines. A launcher that takes none has ended, and this process ends with it.
func recorder(w io.Writer) func(result.Request) {
	var one sync.Mutex
	lines := json.NewEncoder(w)
	return func(r result.Request) {
		one.Lock()
		defer one.Unlock()
		_ = lines.Encode(r)
	}
}
