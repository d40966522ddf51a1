package plan

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/preload"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Own are files of the run that its analysis reads; nil if it has none.
type Own struct {
	Script *os.File // the kept script
	Stdin  *os.File // the standard input, the read end of a pipe
	// Terminal is all three streams instead of pipes.
	Terminal *os.File
	Trace    map[string]string // the variables of its trace context
}

// Job translates the plan for the sandbox. The job has the plan's open files.
func (p *Plan) Job(dir *workspace.Workdir, ingest *os.File, own Own) (job sandbox.Job, err error) {
	job = sandbox.Job{
		ID:             p.Key.ID,
		FixedAddresses: p.Analysis.Repeats(),
		Tree:           p.Tree,
		Cache:          p.Extra.Cache,
		Ahead:          p.Extra.Ahead,
		AheadWithin:    sandbox.LongestAhead,
		Stdin:          cmp.Or(own.Terminal, own.Stdin),
		Terminal:       own.Terminal != nil,
		Work:           dir.Work,
		Ingest:         ingest,
		WorkPath:       filepath.Join(dir.Path, workspace.WorkName),
		WorkDirs:       p.Analysis.WorkDirs(),
		Links:          p.Links(),
		Scratch:        spec.ScratchDirs(),
		Audit:          p.Audit,
		Listen:         p.listen(),
		Bound:          p.Bound(), WorkTmpfs: p.tmpfs(), Floor: p.floor,
		Owner:   p.slot.Analysis,
		Timeout: time.Duration(p.Analysis.Timeout),
		Grace:   time.Duration(p.Analysis.Grace),
		Crowded: p.Analysis.Limits == spec.LimitsOuter,
	}
	for _, in := range p.Inputs.Inputs {
		job.Binds = append(job.Binds, opened(in))
	}
	if p.Base != nil {
		base := opened(p.Base.Input)
		job.Base = &base
		if p.Base.Image != nil { // its root must not be removed under the analysis, which may outlive this process for a moment
			job.Hold = p.Base.Image.Hold()
		}
	}
	if s := p.Inputs.Script; s != nil && s.Alone != nil {
		job.Script = &sandbox.Script{Path: s.Inside, Mode: s.Mode, File: own.Script, Early: p.Extra.Script}
	}
	job.Spec, err = p.specification(own.Trace)
	return job, err
}

// opened is the bind of an input with its file.
func opened(in inputs.Input) sandbox.Bind {
	in.Bind.File = in.File
	return in.Bind
}

// specification is the OCI specification of the job.
func (p *Plan) specification(trace map[string]string) (*specs.Spec, error) {
	place := p.placement()
	place.Unfiltered, place.Trace = true, trace
	if p.Extra.Ahead != nil {
		place.Command = preload.Direct(place.Command)
	}
	s, err := spec.OCI(p.Analysis, place)
	if err == nil {
		s.Process.OOMScoreAdj = likelier(*s.Process.OOMScoreAdj)
	}
	return s, err
}
