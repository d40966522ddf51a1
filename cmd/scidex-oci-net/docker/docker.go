// Package docker speaks the part of docker's command line that workflow engines use (docs/workflows.md).
package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

const about = `Takes the place of docker for a workflow engine; scidex-oci-docker is this command as a program:

  cwltool --user-space-docker-cmd scidex-oci-docker WORKFLOW.cwl JOB.yml

The verbs are run, pull, images, inspect, image inspect, version, stop and kill; all others, and flags that are not
listed here, are refused by name with exit code 125, and nothing is started.

Each run is one of "scidex-oci run", with its limits and defaults (variables and config file), and stays in the
catalog. A bind is read-only, or it is the output directory: what is in it is copied into the run's working
directory, which is shown at the same path, and what the run left replaces it in the end, as files of the caller, or of
the user to whom the directory belongs if root calls. It is the bind that --workdir names. A bind that may be written at
/tmp is the run's own /tmp; any other volume without :rw is read-only, and with it refused. Links that lead out of the
output directory and special files are not put back, and standard error names them.

There is no network, with --network none and without --network. If --network is not given,
SCIDEX_OCI_DOCKER_HOSTS has the hosts for --allow-host, separated by blanks.

An image is one of the config file's mapping images, else one that "scidex-oci image ls" lists under that name;
pull gets any other from its registry. Of an image's configuration entry point, command and environment count.

Flags of docker run: -i, --rm, --init and --read-only change nothing. --volume (-v) SRC:DST[:ro|rw], --mount
type=bind,source=SRC,target=DST[,readonly], --workdir (-w), --env (-e), --label (-l), --name, --cidfile, --user (-u) with the
caller's ids, --network (--net) none, --memory (-m), --cpus, --pids-limit, --entrypoint, --log-driver none.`

// New makes the command.
func New(p *command.Program) *cli.Command {
	var version bool
	return &cli.Command{
		Name:        "docker",
		Usage:       "run the analyses of a workflow engine that calls docker",
		UsageText:   "scidex-oci-docker VERB [flags] [ARG...]",
		Description: about,
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true, Destination: &version}},
		Action: func(c *cli.Context) error {
			if err := p.Load(c); err != nil {
				return err
			}
			f := front{p}
			if version {
				return f.version(c.Context, nil)
			}
			return f.verb(c.Context, c.Args().Slice())
		},
	}
}

// front answers an engine.
type front struct{ *command.Program }

type verb func(f front, ctx context.Context, args []string) error

func verbs() map[string]verb {
	return map[string]verb{
		"run": front.run, "pull": front.pull, "images": front.images, "inspect": front.inspect, "image": front.image, "version": front.version,
		"stop": front.stop, "kill": front.kill,
	}
}

func (f front) verb(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return command.Usagef("docker needs a verb; it has %s", names(verbs()))
	}
	do, known := verbs()[args[0]]
	if !known {
		return command.Usagef("docker %s is not supported; the verbs are %s", args[0], names(verbs()))
	}
	return do(f, ctx, args[1:])
}

func names[T any](of map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(of)), ", ")
}

// call runs a command of this program with the caller's global flags.
func (f front) call(line ...string) error {
	own := []string{"scidex-oci"}
	for _, t := range f.Options.OnLine() {
		own = append(own, t.Label, t.Value)
	}
	return f.Perform(append(own, line...))
}

// version ignores its flags: a --format asks for nothing but the version.
func (f front) version(context.Context, []string) error {
	_, err := fmt.Fprintf(f.Stdout, "scidex-oci-docker version %s\n", f.Build.Version)
	return err
}

func (f front) stop(_ context.Context, args []string) error { return f.end(args, "stop") }
func (f front) kill(_ context.Context, args []string) error { return f.end(args, "stop", "--now") }

func (f front) end(args []string, line ...string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return command.Usagef("docker stop and kill take names of runs, and no flag")
	}
	return f.call(append(append(line, "--"), args...)...)
}
