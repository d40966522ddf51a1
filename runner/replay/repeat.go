package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/digest"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs/fingerprint"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// ReplayLabel is the label of a run that repeats another: "ID@ATTEMPT" of that.
const ReplayLabel = "replay-of"

// Options says how to replay a run.
type Options struct {
	Times int
	// Keep says which replays stay in the catalog: spec.KeepNever, KeepFailed for those that differ, KeepAlways.
	Keep string
	Stop <-chan request.StopSignal
	// Run runs one analysis: that of a runner.Runner.
	Run func(context.Context, request.Request) (result.Result, error)
}

// Replayed is what `replay --json` prints.
type Replayed struct {
	V         int    `json:"v"` // 1
	ID        string `json:"id"`
	Attempt   int    `json:"attempt"`
	Identical bool   `json:"identical"`
	Message   string `json:"message"` // one sentence for a person
	// Changed are inputs that have changed: then nothing was run, or it ends there.
	Changed []Input `json:"changed"`
	// Unknown are inputs without a digest in the recorded run.
	Unknown []Input       `json:"unknown"`
	Replays []ReplayedRun `json:"replays"`
}

// Input is an input and its problem.
type Input struct {
	Flag    string `json:"flag"`
	Source  string `json:"source"`
	Message string `json:"message"`
}

// ReplayedRun is one of the replays.
type ReplayedRun struct {
	ID               string         `json:"id"`
	State            outcome.State  `json:"state"`
	Reason           outcome.Reason `json:"reason"`
	ExitCode         outcome.Code   `json:"exit_code"`
	Identical        bool           `json:"identical"`
	Kept             bool           `json:"kept"` // in the catalog
	Message          string         `json:"message,omitempty"`
	Differences      []Difference   `json:"differences"`
	DifferencesTotal int            `json:"differences_total"`
}

// differencesMax is how many differences a replay lists.
const differencesMax = 1000

// compared is how much of an output is read to guess why it differs, in bytes.
const compared = 8 << 20

// Replay runs a recorded analysis again, from the same inputs, and compares the outputs. The error is a *request.Error where
// the run cannot be replayed at all, or says that scidex-oci failed.
func Replay(ctx context.Context, host *phase.Host, run catalog.Run, how Options) (Replayed, error) {
	replayed := Replayed{V: 1, ID: run.ID, Attempt: run.Attempt, Changed: []Input{}, Unknown: []Input{}, Replays: []ReplayedRun{}}
	if run.State != outcome.Complete && run.State != outcome.Failed {
		return replayed, &request.Error{Err: fmt.Errorf("run %q is %s: only what is complete or failed has an end to compare with", run.Key, run.State)}
	}
	p := &replayer{Host: host, run: run, how: how, replayed: &replayed}
	if err := p.read(ctx); err != nil {
		return replayed, err
	}
	if err := p.checkInputs(ctx); err != nil {
		return replayed, err
	}
	for range how.Times {
		if len(replayed.Changed) > 0 {
			break
		}
		if err := p.once(ctx); err != nil {
			return replayed, err
		}
	}
	replayed.conclude()
	return replayed, nil
}

func (t *Replayed) conclude() {
	same := 0
	for _, one := range t.Replays {
		if one.Identical {
			same++
		}
	}
	t.Identical = same > 0 && same == len(t.Replays) && len(t.Changed) == 0
	switch {
	case len(t.Replays) == 0:
		t.Message = fmt.Sprintf("nothing was run: %d inputs are not what they were", len(t.Changed))
		if len(t.Changed) == 1 {
			t.Message = "nothing was run: an input is not what it was"
		}
	case len(t.Changed) > 0:
		t.Message = "an input changed while it was being replayed"
	case t.Identical:
		t.Message = fmt.Sprintf("identical, %d of %d", same, len(t.Replays))
	default:
		t.Message = fmt.Sprintf("identical %d of %d times", same, len(t.Replays))
	}
}

// replayer replays one run.
type replayer struct {
	*phase.Host
	run      catalog.Run
	how      Options
	replayed *Replayed
	recorded result.Result
	analysis spec.Analysis
	files    []File
}

// read reads what is recorded. The analysis is that of the replays: they have their own ids and a label, and leave nothing.
func (p *replayer) read(ctx context.Context) (err error) {
	if p.recorded, err = result.New(p.run); err != nil {
		return err
	}
	if err := json.Unmarshal(p.run.Request, &p.analysis); err != nil {
		return fmt.Errorf("read the recorded request: %w", err)
	}
	p.analysis.ID, p.analysis.Export, p.analysis.Keep = "", "", spec.KeepNever
	p.analysis.Labels = map[string]string{ReplayLabel: p.run.String()}
	p.files, err = p.outputsOf(ctx, p.run.Key)
	return err
}

func (p *replayer) outputsOf(ctx context.Context, key catalog.Key) (files []File, err error) {
	err = p.Catalog.Outputs(ctx, key, func(e outputs.Entry) bool {
		if e.Rejected == "" {
			files = append(files, File{Path: string(e.Path), Size: e.Size, SHA256: e.SHA256, Mode: uint32(e.Mode)})
		}
		return true
	})
	return files, err
}

// once runs the analysis again.
func (p *replayer) once(ctx context.Context) error {
	res, err := p.how.Run(ctx, request.Request{
		Analysis: p.analysis, Replay: p.run.Key, Stdout: io.Discard, Stderr: io.Discard, Stop: p.how.Stop,
		Switches: request.Switches{NoAudit: p.recorded.Sandbox.Audit == "off"},
	})
	var refused *request.Error
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("replay %q: %w", p.run.Key, err)
	case err != nil:
		return err
	case res.State == outcome.Canceled:
		return fmt.Errorf("replay %q: %s", p.run.Key, res.Message)
	}
	p.replayed.Changed = append(p.replayed.Changed, p.changedMeanwhile(res)...)
	one := ReplayedRun{ID: res.ID, State: res.State, Reason: res.Reason, ExitCode: res.ExitCode, Differences: []Difference{}}
	if err := p.compare(ctx, res, &one); err != nil {
		return err
	}
	one.Kept = p.how.Keep == spec.KeepAlways || p.how.Keep == spec.KeepFailed && !one.Identical
	if !one.Kept {
		if err := recovery.Remove(ctx, p.Host, catalog.Key{ID: res.ID, Attempt: res.Attempt}); err != nil {
			one.Kept, one.Message = true, "it could not be removed: "+result.Sentence(err)
		}
	}
	p.replayed.Replays = append(p.replayed.Replays, one)
	return nil
}

// compare finds the differences.
func (p *replayer) compare(ctx context.Context, res result.Result, one *ReplayedRun) error {
	files, err := p.outputsOf(ctx, catalog.Key{ID: res.ID, Attempt: res.Attempt})
	if err != nil {
		return err
	}
	differ := Compare(p.files, files, p.side(ctx, p.recorded), p.side(ctx, res))
	one.DifferencesTotal = len(differ)
	one.Differences = append(one.Differences, differ[:min(len(differ), differencesMax)]...)
	sameEnd := res.State == p.run.State && res.Reason == p.run.Reason && res.ExitCode == p.run.ExitCode
	if !sameEnd {
		one.Message = fmt.Sprintf("it ended otherwise: %s, %s, exit code %d; recorded is %s, %s, %d",
			res.State, res.Reason, res.ExitCode, p.run.State, p.run.Reason, p.run.ExitCode)
	}
	one.Identical = sameEnd && len(differ) == 0
	for i := range one.Differences {
		one.Differences[i].Path = outputs.Escape([]byte(one.Differences[i].Path))
	}
	return nil
}

// side is one of the two runs that are compared.
func (p *replayer) side(ctx context.Context, of result.Result) Run {
	side := Run{Open: func(f File) ([]byte, error) { return p.beginning(ctx, f.SHA256) }}
	if of.StartedAt != nil && of.FinishedAt != nil {
		side.Started, side.Ended = *of.StartedAt, *of.FinishedAt
	}
	return side
}

func (p *replayer) beginning(ctx context.Context, sha256 string) ([]byte, error) {
	f, err := p.Blobs.Fetch(ctx, sha256)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, compared))
}

// changedMeanwhile are inputs that changed between the check and the replay.
func (p *replayer) changedMeanwhile(res result.Result) (changed []Input) {
	for i, in := range res.Inputs {
		if i >= len(p.recorded.Inputs) || p.recorded.Inputs[i].SHA256 == nil {
			continue
		}
		if before := p.recorded.Inputs[i]; in.SHA256 == nil || *in.SHA256 != *before.SHA256 || in.Changed {
			changed = append(changed, Input{in.Flag, in.Source, "it was changed while it was being replayed"})
		}
	}
	return changed
}

// checkInputs checks whether all inputs are unchanged.
func (p *replayer) checkInputs(ctx context.Context) error {
	account, err := idmap.ReadAccount()
	if err != nil {
		return err
	}
	f := &digest.Digests{Maker: fingerprint.Maker{Dir: filepath.Join(p.Root, digest.FingerprintsDir)}, Mode: p.analysis.DigestInputs, Since: time.Now()}
	programs := p.recorded.Sandbox.RootfsDigest != nil
	p.checkImage(ctx)
	for _, was := range p.recorded.Inputs {
		programs = programs || was.Destination == "/"
		if was.SHA256 == nil || was.Changed {
			if _, err := os.Lstat(was.Source); was.Source != spec.RootfsHost && errors.Is(err, fs.ErrNotExist) {
				p.replayed.Changed = append(p.replayed.Changed, Input{was.Flag, was.Source, isMissing})
				continue
			}
			p.replayed.Unknown = append(p.replayed.Unknown, Input{was.Flag, was.Source, "no digest says what it was"})
			continue
		}
		if problem := p.differs(ctx, f, account, was); problem != "" {
			p.replayed.Changed = append(p.replayed.Changed, Input{was.Flag, was.Source, problem})
		}
	}
	if p.recorded.Inputs == nil && p.analysis.BindsSomething() {
		p.replayed.Unknown = append(p.replayed.Unknown, Input{"--data", p.analysis.Data, "the run has no digests of its inputs"})
	}
	if !programs {
		p.replayed.Unknown = append(p.replayed.Unknown, Input{"--rootfs", p.analysis.Rootfs, "no digest says what programs it had; see --digest-inputs full, or run on an image"})
	}
	return nil
}

// isMissing is the problem of a missing input.
const isMissing = "it is missing"

// checkImage checks whether the image is unchanged.
func (p *replayer) checkImage(ctx context.Context) {
	had := p.recorded.Sandbox.RootfsDigest
	if had == nil {
		return
	}
	b, err := plan.OpenImage(ctx, p.Host, p.analysis.Rootfs)
	problem := ""
	switch {
	case err != nil:
		problem = result.Sentence(err)
	case b.Image.Digest.String() != *had:
		problem = fmt.Sprintf("its root filesystem was %s and is %s", *had, b.Image.Digest)
	}
	if problem != "" {
		p.replayed.Changed = append(p.replayed.Changed, Input{"--rootfs", p.analysis.Rootfs, problem})
	}
	if err == nil {
		p.tell(b.Close())
	}
}

// tell logs an error that changes nothing about the replay.
func (p *replayer) tell(err error) {
	if err != nil {
		p.Log.Warn("replay", "error", err)
	}
}

// differs says how an input has changed; "" if it has not.
func (p *replayer) differs(ctx context.Context, f *digest.Digests, account idmap.Account, was result.Input) string {
	now, err := p.look(ctx, f, account, was)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return isMissing
	case err != nil:
		return result.Sentence(err)
	case *was.SHA256 == now.SHA256:
		return ""
	case was.Digested == string(fingerprint.Listing):
		return fmt.Sprintf("it was written since: names, sizes or change times are others (%d files then, %d now)", was.Files, now.Files)
	}
	return fmt.Sprintf("its content is another: sha256 %.12s then, %.12s now", *was.SHA256, now.SHA256)
}

// look makes the current fingerprint of an input.
func (p *replayer) look(ctx context.Context, f *digest.Digests, account idmap.Account, was result.Input) (fingerprint.Print, error) {
	if was.Source == spec.RootfsHost {
		host, err := rootfs.Host("/", plan.UIDInside(account))
		if err != nil {
			return fingerprint.Print{}, err
		}
		now := f.Programs(ctx, host)
		if now.SHA256 == nil {
			return fingerprint.Print{}, errors.New(now.Message)
		}
		return fingerprint.Print{SHA256: *now.SHA256, Files: now.Files}, nil
	}
	source := was.Source
	if in := (spec.Input{Source: source}); was.Flag == "--input" {
		if digest, blob := in.Digest(); blob {
			_, err := plan.Fetch(ctx, p.Host, digest)
			return fingerprint.Print{SHA256: digest}, err
		}
	}
	file, err := inode.Open(source)
	if err != nil {
		return fingerprint.Print{}, err
	}
	defer file.Close()
	return f.Maker.Of(ctx, file, fingerprint.Kind(was.Digested))
}
