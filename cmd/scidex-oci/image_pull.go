package main

import (
	"context"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/registry"
)

func newImagePull(p *program) *cli.Command {
	return &cli.Command{
		Name:      "pull",
		Usage:     "get an image from a registry",
		UsageText: "scidex-oci image pull REF [--name NAME] [--plain-http] [--json]",
		ArgsUsage: "REF",
		Description: `REF is HOST/PATH:TAG or HOST/PATH@sha256:DIGEST; without a tag it means "latest". A
digest pins the image: the registry cannot give another one for it. Of an image for several platforms that
for this host is taken. What an interrupted pull has left is gone on with, for a day.

The registry is asked with what "docker login" has stored for it ($REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json
or ~/.docker/config.json, and the credential helpers named there), else anonymously. Its certificate is checked
by the system's authorities, or those in SSL_CERT_FILE.

` + aboutImport + `

  scidex-oci image pull registry.example/python:3.12-slim --name python
  scidex-oci run --rootfs python -- python3 --version`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "the `NAME` of the image for --rootfs (default: REF as it is given)"},
			&cli.BoolFlag{Name: "plain-http", Usage: "ask the registry without TLS: whoever is on the way can read and change what is not pinned by a digest", DisableDefaultText: true},
			&cli.BoolFlag{Name: "json", Usage: "print progress and the image as JSON lines", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			given, err := words(c, 1, 1)
			if err != nil {
				return err
			}
			from, err := p.layers(c)
			if err != nil {
				return err
			}
			return p.pullImage(c.Context, from, given[0])
		},
	}
}

// pulling is the phase of what comes from a registry.
const pulling = "pull"

func (p *program) pullImage(ctx context.Context, from layers, given string) error {
	name := from.text("name", given)
	if err := image.CheckName(name); err != nil {
		return usagef("%s", err)
	}
	ref, err := registry.Parse(given)
	if err != nil {
		return usagef("%s", err)
	}
	plain, err := from.on("plain-http")
	if err != nil {
		return err
	}
	s, err := settingsOf(p.options, p.env)
	if err != nil {
		return err
	}
	credentials, err := registry.FromDocker(p.env.Text)
	if err != nil {
		return err
	}
	o := registry.Options{Credentials: credentials, PlainHTTP: plain, UserAgent: "scidex-oci/" + p.build.version}
	return p.add(ctx, from, func(ctx context.Context, to *image.Store, view progressView) (image.Imported, error) {
		o.Log = s.logTo(view)
		o.Progress = func(blob ocispec.Descriptor, done int64) {
			view.show(image.Progress{Phase: pulling, Digest: blob.Digest, Done: done, Total: blob.Size})
		}
		pull := func(ctx context.Context, into *layout.Layout) (ocispec.Descriptor, error) {
			return registry.Pull(ctx, ref, into, o)
		}
		return to.Add(ctx, image.Options{Name: name, Reference: ref.String(), Progress: view.show}, pull)
	})
}
