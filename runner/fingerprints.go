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
	"github.com/scidex-ai/scidex-oci/runner/inputs/fingerprint"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
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
func digestInputs(ctx context.Context, host *phase.Host, p *plan) *fingerprints {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &fingerprints{
		maker: fingerprint.Maker{Dir: filepath.Join(host.Root, FingerprintsDir)}, mode: p.analysis.DigestInputs,
		since: p.opened, trace: trace.From(ctx), cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		defer f.trace.Span(trace.Digests, "digest the inputs")()
		for _, in := range p.sources() {
			f.inputs = append(f.inputs, f.digest(ctx, in))
		}
		if p.base == nil && f.mode == spec.DigestFull {
			f.inputs = append(f.inputs, f.programs(ctx, p))
		}
	}()
	return f
}

// settle waits for the digests and returns them; the end of ctx ends what is not done. A digest of content is looked at once
// more, now that the analysis has ended.
func (f *fingerprints) settle(ctx context.Context, p *plan) []result.Input {
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		f.cancel(errNotAwaited)
	}
	<-f.done
	defer f.cancel(nil)
	sources := p.sources()
	for i := range f.inputs {
		in := &f.inputs[i]
		if i >= len(sources) || in.Changed || in.Digested != string(fingerprint.Content) || sources[i].blob != "" {
			continue
		}
		same, err := f.maker.Unchanged(ctx, sources[i].file, f.since)
		if err != nil {
			withoutDigest(in, err)
		}
		in.Changed = err == nil && !same
	}
	return f.inputs
}

// sources are what a run could read of the host, but for its script, which is kept, and for the host's own programs.
func (p *plan) sources() []input {
	sources := p.inputs.inputs[:len(p.inputs.inputs):len(p.inputs.inputs)]
	if p.stage != nil {
		in := input{flag: "--stage", file: p.stage}
		in.bind.Source, in.bind.Destination, in.bind.Directory = p.analysis.Stage, "/work", true
		sources = append(sources, in)
	}
	if p.base != nil && p.base.image == nil {
		sources = append(sources, p.base.input)
	}
	return sources
}

// digest is what the result says of one input.
func (f *fingerprints) digest(ctx context.Context, in input) result.Input {
	told := result.Input{Flag: in.flag, Source: in.bind.Source, Destination: in.bind.Destination, Digested: result.NoDigest}
	if in.blob != "" {
		told.Source = "sha256:" + in.blob
	}
	if f.mode == spec.DigestScript {
		return told
	}
	kind := fingerprint.Content
	if in.bind.Directory && f.mode != spec.DigestFull {
		kind = fingerprint.Listing
	}
	made, err := f.maker.Of(ctx, in.file, kind)
	if err != nil {
		withoutDigest(&told, err)
		return told
	}
	told.Digested, told.SHA256, told.Files, told.Bytes = string(kind), &made.SHA256, made.Files, made.Bytes
	told.Changed = in.blob == "" && made.Newest.After(f.since)
	return told
}

// withoutDigest says why there is no digest.
func withoutDigest(in *result.Input, err error) {
	in.Digested, in.SHA256, in.Files, in.Bytes, in.Message = result.NoDigest, nil, 0, 0, sentence(err)
}

// programs lists the host's programs and libraries.
func (f *fingerprints) programs(ctx context.Context, p *plan) result.Input {
	told := result.Input{Flag: "--rootfs", Source: spec.RootfsHost, Destination: "/", Digested: string(fingerprint.Listing)}
	all := sha256.New()
	for _, b := range p.tree.Binds {
		listed, err := f.list(ctx, b.Source)
		if err != nil {
			withoutDigest(&told, fmt.Errorf("%s: %w", b.Source, err))
			return told
		}
		fmt.Fprintf(all, "%q %s\n", b.Destination, listed.SHA256)
		told.Files, told.Bytes = told.Files+listed.Files, told.Bytes+listed.Bytes
		told.Changed = told.Changed || listed.Newest.After(f.since)
	}
	for _, file := range p.tree.Files {
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

// noteInputs waits for the digests; a wish to stop ends that. One that comes before the wait is long is for the commit.
func (e *execution) noteInputs(ctx context.Context) {
	if e.prints == nil {
		return
	}
	defer e.span("wait for the digests of the inputs")()
	waiting, release := untilStop(ctx, e.request.Stop, slowCommit)
	e.report.Inputs = e.prints.settle(waiting, e.plan)
	release() //nolint:errcheck // the digests say it
	id, err := e.plan.actionID(e.report)
	e.report.ActionID = id
	e.tell(err)
	for _, in := range e.report.Inputs {
		if in.Message != "" {
			e.report.Warnings = append(e.report.Warnings, fmt.Sprintf("%s %q has no digest: %s", in.Flag, in.Source, in.Message))
		}
		if in.Changed {
			e.report.Warnings = append(e.report.Warnings, fmt.Sprintf("%s %q was changed while the run went on: its digest may not be of what was read", in.Flag, in.Source))
		}
	}
}
