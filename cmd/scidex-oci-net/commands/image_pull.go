package commands

import (
	"context"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/registry"
)

func newImagePull(p *command.Program) *cli.Command {
	o := &imagePullOptions{}
	return &cli.Command{
		Name:      "pull",
		Usage:     "get an image from a registry",
		UsageText: "scidex-oci image pull REF [--name NAME] [--plain-http] [--json]",
		ArgsUsage: "REF",
		Description: `REF is HOST/PATH:TAG or HOST/PATH@sha256:DIGEST; without a tag it means "latest". A
digest pins the image: the registry cannot give another one for it. A name without a registry is one of
short_names in the config file, or refused. Of an image for several platforms that for this host is taken.
What an interrupted pull has left is gone on with, for a day.

The registry's mirrors in the config file (registries) are asked first, in their order; the image's
reference stays REF.

A registry is asked with what "podman login" or "docker login" has stored for it, else anonymously:
only $REGISTRY_AUTH_FILE if it is set, or the first that has something for it of $XDG_RUNTIME_DIR/containers/auth.json,
~/.config/containers/auth.json and $DOCKER_CONFIG/config.json or ~/.docker/config.json, with the credential
helpers named there. Its certificate is checked by the system's authorities, or those in SSL_CERT_FILE, and by
HOST[:PORT]/*.crt in ~/.config/containers/certs.d, else /etc/containers/certs.d, else /etc/docker/certs.d;
*.cert with *.key there are certificates of the client.

` + aboutImport,
		Flags: o.flags(),
		Action: p.Loaded(1, 1, func(ctx context.Context, given []string) error {
			return pullImage(ctx, p, *o, given[0])
		}),
	}
}

// imagePullOptions are the options of image pull.
type imagePullOptions struct {
	name            options.Text
	plainHTTP, json bool
}

func (o *imagePullOptions) flags() []cli.Flag {
	return options.List(
		options.Given(&o.name, "name", "the `NAME` of the image for --rootfs (default: REF as it is given)"),
		options.Bool(&o.plainHTTP, "plain-http", "ask the registry without TLS: anyone on the network path can read and change what is not pinned by a digest"),
		options.Bool(&o.json, "json", "print progress and the image as JSON lines"),
	)
}

// imagePull is the phase of a download from a registry.
const imagePull = "pull"

func pullImage(ctx context.Context, p *command.Program, o imagePullOptions, given string) error {
	name := o.name.Or(given)
	if err := image.CheckName(name); err != nil {
		return command.Usagef("%s", err)
	}
	short, err := p.Options.ShortNames()
	if err != nil {
		return err
	}
	ref, err := registry.ShortNames(short).Parse(given)
	if err != nil {
		return command.Usagef("%s", err)
	}
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return err
	}
	how, err := registryOptions(p, o.plainHTTP)
	if err != nil {
		return err
	}
	return addImage(ctx, p, o.json, func(ctx context.Context, to *image.Store, view progressView) (image.Imported, error) {
		how.Log = s.Logger(view)
		how.Progress = func(blob ocispec.Descriptor, done int64) {
			view.show(image.Progress{Phase: imagePull, Digest: blob.Digest, Done: done, Total: blob.Size})
		}
		pull := func(ctx context.Context, into *layout.Layout) (ocispec.Descriptor, error) {
			return registry.Pull(ctx, ref, into, how)
		}
		return to.Add(ctx, image.Options{Name: name, Reference: ref.String(), Progress: view.show}, pull)
	})
}
