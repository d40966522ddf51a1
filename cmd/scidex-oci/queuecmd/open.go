package queuecmd

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// checkQueue refuses, before anything is opened, a catalog that cannot have a queue.
func checkQueue(p *command.Program) error {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err == nil && !s.HasQueue() {
		err = stores.ErrNoQueue
	}
	return err
}

// withQueue opens the queue for a command.
func withQueue(p *command.Program, c *cli.Context, command func(q queue.Queue, st *stores.Stores) error) error {
	if err := p.Load(c); err != nil {
		return err
	}
	if err := checkQueue(p); err != nil {
		return err
	}
	return p.WithStores(c, func(st *stores.Stores) error {
		q, err := st.OpenQueue(c.Context)
		if err != nil {
			return err
		}
		return command(q, st)
	})
}
