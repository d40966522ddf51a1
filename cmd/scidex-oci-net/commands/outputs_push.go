package commands

import (
	"context"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/rootfs/registry"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// newPush makes the command outputs push.
func newPush(p *command.Program) *cli.Command {
	o := &pushOptions{}
	return &cli.Command{
		Name:      "push",
		Usage:     "push the outputs of a run to a registry, as an OCI artifact",
		UsageText: "scidex-oci outputs push ID REF [--plain-http] [--json]",
		ArgsUsage: "ID REF",
		Description: `REF is HOST/PATH:TAG; without a tag it means "latest". A tag that is there already means this run afterwards. The artifact has a layer for each output
and one for scidex-result.json, under their paths, as "oras pull" reads it. The signed statement of a run is a second artifact that
refers to the first; "oras discover" names it. See docs/statement.md.

Credentials and certificates are those of image pull. What the registry has already is not sent again.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 2, 2)
			if err != nil {
				return err
			}
			ref, err := registry.Parse(given[1])
			if err != nil {
				return command.Usagef("%s", err)
			}
			return p.WithStores(c, func(st *stores.Stores) error {
				return command.UntilStopped(c.Context, func(ctx context.Context) error { return push(ctx, p, st, *o, given[0], ref) })
			})
		},
	}
}

// pushOptions are the options of outputs push.
type pushOptions struct {
	plainHTTP, json bool
}

func (o *pushOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.plainHTTP, "plain-http", "ask the registry without TLS: anyone on the network path can read and change what is sent"),
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func push(ctx context.Context, p *command.Program, st *stores.Stores, o pushOptions, name string, ref registry.Reference) error {
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	if err := deliver.OutputsHere(run); err != nil {
		return err
	}
	how, err := registryOptions(p, o.plainHTTP)
	if err != nil {
		return err
	}
	how.Log = st.Host.Log
	first, about, err := artifactsOf(ctx, st, run)
	if err != nil {
		return err
	}
	pushed, err := registry.Push(ctx, ref, how, first, about...)
	if err != nil {
		return err
	}
	return o.print(p, ref, len(first.Files)-1, pushed)
}

// pushed is the answer of --json.
type pushed struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	Outputs   int    `json:"outputs"`
	Statement string `json:"statement,omitempty"` // its manifest's digest
}

func (o pushOptions) print(p *command.Program, ref registry.Reference, outputs int, manifests []ocispec.Descriptor) error {
	said := pushed{Reference: ref.String() + "@" + manifests[0].Digest.String(), Digest: manifests[0].Digest.String(), Outputs: outputs}
	if len(manifests) > 1 {
		said.Statement = manifests[1].Digest.String()
	}
	if o.json {
		return screen.WriteJSON(p.Stdout, said)
	}
	text := fmt.Sprintf("pushed %s and the result as %s\n", format.Count(outputs, "output", "outputs"), said.Reference)
	if said.Statement != "" {
		text += fmt.Sprintf("the statement refers to it, as %s\n", said.Statement)
	}
	_, err := fmt.Fprint(p.Stdout, text)
	return err
}
