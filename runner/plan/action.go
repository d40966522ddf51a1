package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"runtime"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/inputs/fingerprint"
	"github.com/scidex-ai/scidex-oci/spec"
)

// action is all that decides the outputs of an analysis, as far as its requester controls it. It leaves out what names or
// watches a run: its id, labels, time limits, how limits are enforced. The form is that of the digest: changing it
// invalidates every recorded one, and takes another version.
type action struct {
	V           int               `json:"v"` // 1
	Arch        string            `json:"arch"`
	Command     []string          `json:"command"`         // as it is executed
	Script      string            `json:"script"`          // SHA-256
	Stdin       string            `json:"stdin,omitempty"` // SHA-256; empty: it is
	Environment map[string]string `json:"environment"`
	Secrets     []string          `json:"secrets"` // names
	UID         uint32            `json:"uid"`
	Outputs     []string          `json:"outputs"`
	Exclude     []string          `json:"exclude"`
	Memory      spec.Size         `json:"memory"`
	CPUs        float64           `json:"cpus"`
	Pids        int64             `json:"pids"`
	WorkSize    spec.Size         `json:"work_size"`
	WorkFiles   int64             `json:"work_files"`
	WorkStorage string            `json:"work_storage"`
	Fixed       bool              `json:"deterministic"`
	Rootfs      string            `json:"rootfs"` // digest of an image; others are among the inputs
	Inputs      []actionInput     `json:"inputs"`
}

type actionInput struct {
	Destination string `json:"destination"`
	Digested    string `json:"digested"`
	SHA256      string `json:"sha256"`
}

// ActionID returns the SHA-256 of the action, nil if the report lacks a part of it.
func (p *Plan) ActionID(report result.Report) (*string, error) {
	a := action{
		V: 1, Arch: runtime.GOARCH, Command: p.Command, Secrets: slices.Sorted(slices.Values(p.Analysis.Secrets)), UID: p.uid(),
		Outputs: p.Analysis.Outputs, Exclude: p.Analysis.Exclude,
		Memory: p.Analysis.Memory, CPUs: p.Analysis.CPUs, Pids: p.Analysis.Pids,
		WorkSize: p.Analysis.WorkSize, WorkFiles: p.Analysis.WorkFiles, WorkStorage: p.Analysis.WorkStorage, Fixed: p.Analysis.Repeats(),
	}
	if p.Analysis.Requests() {
		return nil, nil // what hosts answer is not known
	}
	if report.Script != nil {
		a.Script = report.Script.SHA256
	}
	if report.Stdin != nil {
		a.Stdin = report.Stdin.SHA256
	}
	var known bool
	if a.Inputs, known = fixedInputs(report.Inputs); !known {
		return nil, nil // it is not known, which is no error
	}
	switch {
	case p.Base != nil && p.Base.Image != nil:
		if report.Sandbox.RootfsDigest == nil {
			return nil, nil // the same
		}
		a.Rootfs = *report.Sandbox.RootfsDigest
	case !slices.ContainsFunc(a.Inputs, func(in actionInput) bool { return in.Destination == "/" }):
		return nil, nil // the same
	}
	var err error
	if a.Environment, err = p.visibleEnvironment(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	id := hex.EncodeToString(sum[:])
	return &id, nil
}

// fixedInputs returns the inputs of a report in path order; known is false if one may have changed.
func fixedInputs(inputs []result.Input) (fixed []actionInput, known bool) {
	for _, in := range inputs {
		if !IsFixed(in) {
			return nil, false
		}
		fixed = append(fixed, actionInput{in.Destination, in.Digested, *in.SHA256})
	}
	slices.SortFunc(fixed, func(x, y actionInput) int { return cmp.Compare(x.Destination, y.Destination) })
	return fixed, true
}

// IsFixed reports whether the digest says what the analysis has read. The host's programs are known by a listing: a change
// time cannot be set back, and only root changes them.
func IsFixed(in result.Input) bool {
	return in.SHA256 != nil && !in.Changed && (in.Digested == string(fingerprint.Content) || in.Source == spec.RootfsHost)
}

// visibleEnvironment is the analysis' environment without the values of secrets and the name of the run.
func (p *Plan) visibleEnvironment() (map[string]string, error) {
	env, err := p.Environment()
	if err != nil {
		return nil, err
	}
	env = maps.Clone(env)
	delete(env, "SCIDEX_ANALYSIS_ID")
	for _, name := range p.Analysis.Secrets {
		delete(env, name)
	}
	return env, nil
}
