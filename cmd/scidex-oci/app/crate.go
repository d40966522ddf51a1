package app

import (
	"context"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/crate/runcrate"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newCrateCommand(p *command.Program) *cli.Command {
	o := &crateOptions{}
	return &cli.Command{
		Name:      "crate",
		Usage:     "write a run with its outputs as an RO-Crate",
		UsageText: "scidex-oci crate ID -o DIR|FILE.zip [flags]",
		ArgsUsage: "ID",
		Description: `A Process Run Crate 0.5 has the outputs, the logs, the script and the result of a run, and says in ro-crate-metadata.json
what was executed, when, on which image, with what environment, and what it used. Inputs are named, not contained;
secrets are left out. What is not known is left out too: say --license and --agent.`,
		Flags: o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runCrate(ctx, p, st, *o, given)
		}),
	}
}

// crateOptions are the options of crate.
type crateOptions struct {
	output, license string
	title           options.Text
	agent           *crate.Agent
}

func (o *crateOptions) flags() []cli.Flag {
	return options.List(
		options.Path(&o.output, "out", "write to `DIR`, new or empty, or to a new FILE.zip", "o"),
		options.Given(&o.title, "title", "the `NAME` of the crate (default: the run's)"),
		options.Value(&o.license, "license", "the `URI` of the license of all that is in it", readLicense),
		options.Value(&o.agent, "agent", "who had the analysis run: `NAME`, or \"NAME <URI>\", as of an ORCID", readAgent),
	)
}

func runCrate(ctx context.Context, p *command.Program, st *stores.Stores, o crateOptions, name string) error {
	if o.output == "" {
		return command.Usagef("crate: no place to write to; give --out DIR or --out FILE.zip")
	}
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	if err := deliver.OutputsHere(run); err != nil {
		return err
	}
	result, err := watch.Show(ctx, st.Host, run)
	if err != nil {
		return err
	}
	described, source, err := runcrate.New(ctx, runcrate.Stores{Catalog: st.Catalog, Blobs: st.Blobs}, run, result)
	if err != nil {
		return err
	}
	described.Description += " " + results.Ending(result) + "."
	described.Name = o.title.Or(described.Name)
	described.License, described.Agent = o.license, o.agent
	made, err := crate.Describe(described)
	if err != nil {
		return err
	}
	write := made.WriteDir
	if strings.HasSuffix(o.output, ".zip") {
		write = made.WriteZip
	}
	if err := write(ctx, o.output, source); err != nil {
		return err
	}
	p.Tell("wrote the crate of %s to %s", run.Key, o.output)
	return nil
}

func readLicense(t options.Text) (string, error) {
	if u, err := url.Parse(t.Value); err != nil || !u.IsAbs() {
		return "", t.Refuse("give a URI, as https://creativecommons.org/licenses/by/4.0/")
	}
	return t.Value, nil
}

// readAgent reads NAME, or "NAME <URI>".
func readAgent(t options.Text) (*crate.Agent, error) {
	name, id, _ := strings.Cut(strings.TrimSuffix(t.Value, ">"), "<")
	agent := &crate.Agent{Name: strings.TrimSpace(name), ID: id}
	if u, err := url.Parse(id); agent.Name == "" || err != nil || id != "" && !u.IsAbs() {
		return nil, t.Refuse("give NAME, or \"NAME <URI>\"")
	}
	return agent, nil
}
