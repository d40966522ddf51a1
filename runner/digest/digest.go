package digest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/inputs/fingerprint"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/spec"
)

// errNotAwaited is why there is no digest when a signal came after the analysis had ended.
var errNotAwaited = errors.New("a signal ended the wait for it")

// FingerprintsDir is the cache of digests of files, below phase.Host.Root.
const FingerprintsDir = "fingerprints"

// Digests are the digests of a run's inputs, made while it runs.
type Digests struct {
	Maker  fingerprint.Maker
	Mode   string    // spec.Digest*
	Since  time.Time // when the inputs were opened
	plan   *plan.Plan
	trace  *trace.Tracer
	inputs []result.Input
	cancel context.CancelCauseFunc
	done   chan struct{} // nil: not started
}

// New returns the digests of what a plan has opened. Its files must stay open until Wait has returned.
func New(host *phase.Host, p *plan.Plan) *Digests {
	return &Digests{
		Maker: fingerprint.Maker{Dir: filepath.Join(host.Root, FingerprintsDir)}, Mode: p.Analysis.DigestInputs,
		Since: p.Opened, plan: p,
	}
}

// Start starts to make them, and returns d.
func (d *Digests) Start(ctx context.Context) *Digests {
	ctx, d.cancel = context.WithCancelCause(ctx)
	d.trace, d.done = trace.From(ctx), make(chan struct{})
	go func() {
		defer close(d.done)
		defer d.trace.Span(trace.Digests, "digest the inputs")()
		for _, in := range d.plan.Sources() {
			d.inputs = append(d.inputs, d.digest(ctx, in))
		}
		if d.plan.Base == nil && d.Mode == spec.DigestFull {
			d.inputs = append(d.inputs, d.Programs(ctx, d.plan.Tree))
		}
	}()
	return d
}

// Started reports whether Start was called.
func (d *Digests) Started() bool { return d.done != nil }

// Wait waits for the digests and returns them; the end of ctx ends unfinished ones. A digest of content is checked once
// more, now that the analysis has ended.
func (d *Digests) Wait(ctx context.Context) []result.Input {
	select {
	case <-d.done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		d.cancel(errNotAwaited)
	}
	<-d.done
	defer d.cancel(nil)
	sources := d.plan.Sources()
	for i := range d.inputs {
		in := &d.inputs[i]
		if i >= len(sources) || in.Changed || in.Digested != string(fingerprint.Content) || sources[i].Blob != "" {
			continue
		}
		same, err := d.Maker.Unchanged(ctx, sources[i].File, d.Since)
		if err != nil {
			withoutDigest(in, err)
		}
		in.Changed = err == nil && !same
	}
	return d.inputs
}

// digest is one input of the result.
func (d *Digests) digest(ctx context.Context, in inputs.Input) result.Input {
	got := result.Input{Flag: in.Flag, Source: in.Bind.Source, Destination: in.Bind.Destination, Digested: result.NoDigest}
	if in.Blob != "" {
		got.Source = "sha256:" + in.Blob
	}
	if d.Mode == spec.DigestScript {
		return got
	}
	kind := fingerprint.Content
	if in.Bind.Directory && d.Mode != spec.DigestFull {
		kind = fingerprint.Listing
	}
	made, err := d.Maker.Of(ctx, in.File, kind)
	if err != nil {
		withoutDigest(&got, err)
		return got
	}
	got.Digested, got.SHA256, got.Files, got.Bytes = string(kind), &made.SHA256, made.Files, made.Bytes
	got.Changed = in.Blob == "" && made.Newest.After(d.Since)
	return got
}

// withoutDigest says why there is no digest.
func withoutDigest(in *result.Input, err error) {
	in.Digested, in.SHA256, in.Files, in.Bytes, in.Message = result.NoDigest, nil, 0, 0, result.Sentence(err)
}

// Programs lists the programs and libraries of a root filesystem that is the host's.
func (d *Digests) Programs(ctx context.Context, tree rootfs.Tree) result.Input {
	got := result.Input{Flag: "--rootfs", Source: spec.RootfsHost, Destination: "/", Digested: string(fingerprint.Listing)}
	all := sha256.New()
	for _, b := range tree.Binds {
		listed, err := d.list(ctx, b.Source)
		if err != nil {
			withoutDigest(&got, fmt.Errorf("%s: %w", b.Source, err))
			return got
		}
		fmt.Fprintf(all, "%q %s\n", b.Destination, listed.SHA256)
		got.Files, got.Bytes = got.Files+listed.Files, got.Bytes+listed.Bytes
		got.Changed = got.Changed || listed.Newest.After(d.Since)
	}
	for _, file := range tree.Files {
		fmt.Fprintf(all, "%q %x\n", file.Path, sha256.Sum256(file.Data))
	}
	digest := hex.EncodeToString(all.Sum(nil))
	got.SHA256 = &digest
	return got
}

func (d *Digests) list(ctx context.Context, path string) (fingerprint.Print, error) {
	file, err := inode.Open(path)
	if err != nil {
		return fingerprint.Print{}, err
	}
	defer file.Close()
	return d.Maker.Of(ctx, file, fingerprint.Listing)
}
