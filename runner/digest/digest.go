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
	trace  *trace.Tracer
	inputs []result.Input
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// Start starts to digest what a plan has opened. Its files must stay open until Settle has returned.
func Start(ctx context.Context, host *phase.Host, p *plan.Plan) *Digests {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &Digests{
		Maker: fingerprint.Maker{Dir: filepath.Join(host.Root, FingerprintsDir)}, Mode: p.Analysis.DigestInputs,
		Since: p.Opened, trace: trace.From(ctx), cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		defer f.trace.Span(trace.Digests, "digest the inputs")()
		for _, in := range p.Sources() {
			f.inputs = append(f.inputs, f.digest(ctx, in))
		}
		if p.Base == nil && f.Mode == spec.DigestFull {
			f.inputs = append(f.inputs, f.Programs(ctx, p.Tree))
		}
	}()
	return f
}

// Settle waits for the digests and returns them; the end of ctx ends unfinished ones. A digest of content is checked once
// more, now that the analysis has ended.
func (f *Digests) Settle(ctx context.Context, p *plan.Plan) []result.Input {
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		f.cancel(errNotAwaited)
	}
	<-f.done
	defer f.cancel(nil)
	sources := p.Sources()
	for i := range f.inputs {
		in := &f.inputs[i]
		if i >= len(sources) || in.Changed || in.Digested != string(fingerprint.Content) || sources[i].Blob != "" {
			continue
		}
		same, err := f.Maker.Unchanged(ctx, sources[i].File, f.Since)
		if err != nil {
			withoutDigest(in, err)
		}
		in.Changed = err == nil && !same
	}
	return f.inputs
}

// digest is one input of the result.
func (f *Digests) digest(ctx context.Context, in inputs.Input) result.Input {
	told := result.Input{Flag: in.Flag, Source: in.Bind.Source, Destination: in.Bind.Destination, Digested: result.NoDigest}
	if in.Blob != "" {
		told.Source = "sha256:" + in.Blob
	}
	if f.Mode == spec.DigestScript {
		return told
	}
	kind := fingerprint.Content
	if in.Bind.Directory && f.Mode != spec.DigestFull {
		kind = fingerprint.Listing
	}
	made, err := f.Maker.Of(ctx, in.File, kind)
	if err != nil {
		withoutDigest(&told, err)
		return told
	}
	told.Digested, told.SHA256, told.Files, told.Bytes = string(kind), &made.SHA256, made.Files, made.Bytes
	told.Changed = in.Blob == "" && made.Newest.After(f.Since)
	return told
}

// withoutDigest says why there is no digest.
func withoutDigest(in *result.Input, err error) {
	in.Digested, in.SHA256, in.Files, in.Bytes, in.Message = result.NoDigest, nil, 0, 0, result.Sentence(err)
}

// Programs lists the programs and libraries of a root filesystem that is the host's.
func (f *Digests) Programs(ctx context.Context, tree rootfs.Tree) result.Input {
	told := result.Input{Flag: "--rootfs", Source: spec.RootfsHost, Destination: "/", Digested: string(fingerprint.Listing)}
	all := sha256.New()
	for _, b := range tree.Binds {
		listed, err := f.list(ctx, b.Source)
		if err != nil {
			withoutDigest(&told, fmt.Errorf("%s: %w", b.Source, err))
			return told
		}
		fmt.Fprintf(all, "%q %s\n", b.Destination, listed.SHA256)
		told.Files, told.Bytes = told.Files+listed.Files, told.Bytes+listed.Bytes
		told.Changed = told.Changed || listed.Newest.After(f.Since)
	}
	for _, file := range tree.Files {
		fmt.Fprintf(all, "%q %x\n", file.Path, sha256.Sum256(file.Data))
	}
	digest := hex.EncodeToString(all.Sum(nil))
	told.SHA256 = &digest
	return told
}

func (f *Digests) list(ctx context.Context, path string) (fingerprint.Print, error) {
	file, err := inode.Open(path)
	if err != nil {
		return fingerprint.Print{}, err
	}
	defer file.Close()
	return f.Maker.Of(ctx, file, fingerprint.Listing)
}
