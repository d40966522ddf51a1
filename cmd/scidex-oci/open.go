package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/inodes"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// stores are those of an opened root: its catalog and blob store, and the runner that works on them.
type stores struct {
	catalog catalog.Catalog
	blobs   *blob.Store
	runner  *phase.Host
}

// load gives the options of a command line their values: those of the command's flags, the global ones, and others, which
// may be keys of the config file alone.
func (p *program) load(c *cli.Context, others ...*options.Flag) error {
	return p.options.Load(p.env, options.Of(c.Command.Flags, c.App.Flags), others...)
}

// visit opens catalog and blob store for a command, with what waited to be committed, and closes them after it.
func (p *program) visit(c *cli.Context, command func(h *stores) error) error {
	return p.enter(c, func(h *stores) error {
		runner.CommitOutcomes(c.Context, h.runner)
		return command(h)
	})
}

// change is visit for a command that writes to the catalog: before it, what killed runs of this root left is removed.
func (p *program) change(c *cli.Context, command func(h *stores) error) error {
	return p.visit(c, func(h *stores) error {
		runner.Tidy(c.Context, h.runner)
		return command(h)
	})
}

// enter is visit for a command that sees to what waits itself.
func (p *program) enter(c *cli.Context, command func(h *stores) error) error {
	if err := p.load(c); err != nil {
		return err
	}
	h, err := p.open(c.Context, p.stderr)
	if err != nil {
		return err
	}
	err = command(h)
	return errors.Join(err, h.Close())
}

// open opens catalog and blob store as the global flags say; log receives messages. Close the stores.
func (p *program) open(ctx context.Context, log io.Writer) (*stores, error) {
	s, err := settingsOf(p.options, p.env)
	if err != nil {
		return nil, &request.Error{Err: err}
	}
	given, err := policyOf(p.options)
	if err != nil {
		return nil, &request.Error{Err: err}
	}
	return p.openAt(ctx, s, given, log)
}

// policy is what the operator grants to runs.
type policy struct {
	allowed []binds.Allowed
	floor   sandbox.Floor
}

func policyOf(g *options.Global) (given policy, err error) {
	if given.allowed, err = g.Allowed(); err != nil {
		return given, err
	}
	given.floor, err = floorOf(g.MinFree)
	return given, err
}

// openAt opens what settings name, and makes it where it is missing. Its errors are CatalogErrors, but for
// what was asked for wrongly.
func (p *program) openAt(ctx context.Context, s settings, given policy, log io.Writer) (*stores, error) {
	h, err := p.openStores(ctx, s, given, log)
	var refused *request.Error
	if err == nil || errors.As(err, &refused) {
		return h, err
	}
	return nil, &request.CatalogError{Err: inodes.Explain(err)}
}

func (p *program) openStores(ctx context.Context, s settings, given policy, log io.Writer) (*stores, error) {
	for _, dir := range []string{s.root, s.blobs.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("%w; give another place with --root DIR", err)
		}
	}
	blobs, err := s.blobs.open()
	if err != nil {
		return nil, err
	}
	cat, err := s.db.openIf(ctx, s.neverHad)
	if err != nil {
		return nil, err
	}
	return &stores{catalog: cat, blobs: blobs, runner: &phase.Host{
		Catalog: cat, Blobs: blobs, Root: s.root, Tmp: s.tmp, MinFree: given.floor, Version: p.build.version,
		Private:  append(s.db.private(), s.blobs.dir),
		Database: s.db.listens(), AllowBinds: given.allowed,
		Log: s.logTo(log),
	}}, nil
}

// Close closes the catalog.
func (h *stores) Close() error { return h.catalog.Close() }

// find resolves what a person types for a run.
func (h *stores) find(ctx context.Context, name string) (catalog.Run, error) {
	run, err := h.catalog.Find(ctx, name)
	if err != nil {
		return run, noRun(name, err)
	}
	return run, nil
}

// noRun explains why name is no run.
func noRun(name string, err error) error {
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return fmt.Errorf("no run %q in this catalog; see \"scidex-oci ls\"", name)
	case errors.Is(err, catalog.ErrAmbiguous):
		return fmt.Errorf("%q is the beginning of several ids; type more of it", name)
	}
	return fmt.Errorf("find %q: %w", name, err)
}

// floorOf is what the file systems that runs write to are to keep free.
func floorOf(t options.Text) (sandbox.Floor, error) {
	if !t.Given {
		return sandbox.Floor{Percent: 5}, nil
	}
	floor, err := plan.ParseFloor(t.Value)
	if err != nil {
		return floor, t.Wrap(err)
	}
	return floor, nil
}
