package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/crate/runcrate"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
	"github.com/scidex-ai/scidex-oci/outputs/statement/check"
	"github.com/scidex-ai/scidex-oci/outputs/statement/signer"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// newVerify makes the command verify.
func newVerify(p *command.Program) *cli.Command {
	o := &verifyOptions{}
	return &cli.Command{
		Name:      "verify",
		Usage:     "verify the signed statement of a run, with all that it is about, or check a crate",
		UsageText: "scidex-oci verify RUN|DIR|FILE.zip --key FILE.pub [--key FILE.pub]... [--json]\nscidex-oci verify DIR|FILE.zip",
		ArgsUsage: "RUN|DIR|FILE.zip",
		Description: `DIR is a directory of exported outputs or a crate, FILE.zip a crate: neither needs a catalog, on any machine. What is a
file or directory is taken for one; ID@ATTEMPT always names a run. Each signature in the statement must be of one of the keys,
and the result and all outputs as they were signed, with none missing and none besides.

Without --key it checks an RO-Crate that is not signed: each file against the size and SHA-256 that the crate's metadata name,
and what they say about a run against scidex-result.json, if that is there. A change of both is not noticed.

It proves that somebody with the key has said so, and not that it is true: root of that host can sign anything. See docs/statement.md.

Exit codes: 0 verified, 1 not, with a line for each problem, 125 if it could not be tried.`,
		Flags:  o.flags(),
		Action: func(c *cli.Context) error { return runVerify(c, p, o) },
	}
}

// verifyOptions are the options of verify.
type verifyOptions struct {
	keys options.Text
	json bool
}

func (o *verifyOptions) flags() []cli.Flag {
	return options.List(
		options.GivenList(&o.keys, "key", "take signatures by the public key in `FILE` (PEM); repeatable"),
		options.Bool(&o.json, "json", "print one JSON object (docs/schema/verify.json)"),
	)
}

func runVerify(c *cli.Context, p *command.Program, o *verifyOptions) error {
	given, err := command.Args(c, 1, 1)
	if err != nil {
		return err
	}
	if err := p.Load(c); err != nil {
		return err
	}
	if !o.keys.Given && !o.json && isThere(given[0]) {
		return checkCrate(c.Context, p, given[0])
	}
	keys, err := o.readKeys()
	if err != nil {
		return err
	}
	r, err := verify(c.Context, p, given[0], keys)
	if err != nil {
		return err
	}
	return o.print(p, given[0], r)
}

func (o *verifyOptions) readKeys() (keys []statement.PublicKey, err error) {
	if !o.keys.Given {
		return nil, command.Usagef("verify: no key; give the public key of the host that signed with --key FILE.pub")
	}
	for _, path := range o.keys.Values {
		key, err := signer.PublicFile(options.Absolute(o.keys.Dir, path))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(keys, func(k statement.PublicKey) bool { return k.ID() == key.ID() }) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// isThere reports whether there is a file or directory of the name.
func isThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// checkCrate compares a crate that is not signed with its own metadata.
func checkCrate(ctx context.Context, p *command.Program, path string) error {
	got, err := runcrate.Verify(ctx, path)
	if err != nil {
		return err
	}
	if got.Signed {
		return command.Usagef("verify: %s is signed; give the public key of the host that signed with --key FILE.pub", screen.Escape(path))
	}
	for _, one := range got.Problems {
		if _, err := fmt.Fprintf(p.Stdout, "%s: %s\n", screen.Escape(one.Path), screen.Escape(one.What)); err != nil {
			return err
		}
	}
	if len(got.Problems) > 0 {
		fmt.Fprintf(p.Stderr, "%s; %s as named\n", format.Count(len(got.Problems), "problem", "problems"), format.Count(got.Files, "file", "files"))
		return command.ExitStatus(1)
	}
	_, err = fmt.Fprintf(p.Stdout, "%s, %s: all as named, and unsigned\n", format.Count(got.Files, "file", "files"), format.Size(got.Bytes))
	return err
}

// verify verifies what name is: a file or directory, else a run.
func verify(ctx context.Context, p *command.Program, name string, keys []statement.PublicKey) (*check.Report, error) {
	if isThere(name) {
		return check.Path(ctx, name, keys)
	}
	st, err := p.OpenStores(ctx, p.Stderr)
	if err != nil {
		return nil, err
	}
	defer st.Close() //nolint:errcheck // it was only read
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return nil, err
	}
	res, err := watch.Show(ctx, st.Host, run)
	if err != nil {
		return nil, err
	}
	return check.Run(ctx, check.Stores{Catalog: st.Catalog, Blobs: st.Blobs}, res, keys)
}
