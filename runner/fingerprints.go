package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
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

// FingerprintsDir is where digests of files are remembered, below Runner.Root.
const FingerprintsDir = "fingerprints"

// fingerprints are the digests of a run's inputs, made while it goes on.
type fingerprints struct {
	maker  fingerprint.Maker
	mode   string    // spec.Digest*
	since  time.Time // when the inputs were opened
	trace  *trace.Tracer
	inputs []result.Input
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// digestInputs begins to digest what a plan has opened. Its files must stay open until settle has returned.
func digestInputs(ctx context.Context, host *phase.Host, p *plan.Plan) *fingerprints {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &fingerprints{
		maker: fingerprint.Maker{Dir: filepath.Join(host.Root, FingerprintsDir)}, mode: p.Analysis.DigestInputs,
		since: p.Opened, trace: trace.From(ctx), cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		defer f.trace.Span(trace.Digests, "digest the inputs")()
		for _, in := range p.Sources() {
			f.inputs = append(f.inputs, f.digest(ctx, in))
		}
		if p.Base == nil && f.mode == spec.DigestFull {
			f.inputs = append(f.inputs, f.programs(ctx, p))
		}
	}()
	return f
}

// settle waits for the digests and returns them; the end of ctx ends what is not done. A digest of content is looked at once
// more, now that the analysis has ended.
func (f *fingerprints) settle(ctx context.Context, p *plan.Plan) []result.Input {
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
		same, err := f.maker.Unchanged(ctx, sources[i].File, f.since)
		if err != nil {
			withoutDigest(in, err)
		}
		in.Changed = err == nil && !same
	}
	return f.inputs
}

// digest is what the result says of one input.
func (f *fingerprints) digest(ctx context.Context, in inputs.Input) result.Input {
	told := result.Input{Flag: in.Flag, Source: in.Bind.Source, Destination: in.Bind.Destination, Digested: result.NoDigest}
	if in.Blob != "" {
		told.Source = "sha256:" + in.Blob
	}
	if f.mode == spec.DigestScript {
		return told
	}
	kind := fingerprint.Content
	if in.Bind.Directory && f.mode != spec.DigestFull {
		kind = fingerprint.Listing
	}
	made, err := f.maker.Of(ctx, in.File, kind)
	if err != nil {
		withoutDigest(&told, err)
		return told
	}
	told.Digested, told.SHA256, told.Files, told.Bytes = string(kind), &made.SHA256, made.Files, made.Bytes
	told.Changed = in.Blob == "" && made.Newest.After(f.since)
	return told
}

// withoutDigest says why there is no digest.
func withoutDigest(in *result.Input, err error) {
	in.Digested, in.SHA256, in.Files, in.Bytes, in.Message = result.NoDigest, nil, 0, 0, result.Sentence(err)
}

// programs lists the host's programs and libraries.
func (f *fingerprints) programs(ctx context.Context, p *plan.Plan) result.Input {
	told := result.Input{Flag: "--rootfs", Source: spec.RootfsHost, Destination: "/", Digested: string(fingerprint.Listing)}
	all := sha256.New()
	for _, b := range p.Tree.Binds {
		listed, err := f.list(ctx, b.Source)
		if err != nil {
			withoutDigest(&told, fmt.Errorf("%s: %w", b.Source, err))
			return told
		}
		fmt.Fprintf(all, "%q %s\n", b.Destination, listed.SHA256)
		told.Files, told.Bytes = told.Files+listed.Files, told.Bytes+listed.Bytes
		told.Changed = told.Changed || listed.Newest.After(f.since)
	}
	for _, file := range p.Tree.Files {
		fmt.Fprintf(all, "%q %x\n", file.Path, sha256.Sum256(file.Data))
	}
	digest := hex.EncodeToString(all.Sum(nil))
	told.SHA256 = &digest
	return told
}

func (f *fingerprints) list(ctx context.Context, path string) (fingerprint.Print, error) {
	file, err := inode.Open(path)
	if err != nil {
		return fingerprint.Print{}, err
	}
	defer file.Close()
	return f.maker.Of(ctx, file, fingerprint.Listing)
}
