package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/filter"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Job translates the plan for the supervisor. Root's supervisor has ids of the range and cannot open what only root can:
// root passes such things as detached mounts. script is the kept script.
func (p *Plan) Job(dir *workspace.Workdir, ingest, script *os.File) (sandbox.Job, jobFiles, error) {
	files := jobFiles{All: []*os.File{dir.Work, ingest}, mounts: 2}
	job := sandbox.Job{
		ID:             p.Key.ID,
		FixedAddresses: p.Analysis.Repeats(),
		Tree:           p.Tree,
		WorkPath:       filepath.Join(dir.Path, workspace.WorkName),
		Links:          p.Links(),
		Audit:          p.Audit,
		Bound:          p.Bound(), WorkTmpfs: p.tmpfs(), Floor: p.floor,
		Owner:   p.slot.Analysis,
		Timeout: time.Duration(p.Analysis.Timeout),
		Grace:   time.Duration(p.Analysis.Grace),
		Crowded: p.Analysis.Limits == spec.LimitsOuter,
	}
	for _, in := range p.Inputs.Inputs {
		job.Binds = append(job.Binds, in.Bind)
	}
	if p.Base != nil {
		bind := p.Base.Bind
		job.Base = &bind
	}
	if s := p.Inputs.Script; s != nil && s.Alone != nil {
		job.Script = &sandbox.Script{Path: s.Inside, Mode: s.Mode, File: len(files.All)}
		files.All, files.mounts = append(files.All, script), files.mounts+1
	}
	if err := p.hold(&job, &files); err != nil {
		return job, files, err
	}
	if p.Account.Root() {
		if err := p.detach(&job, &files); err != nil {
			return job, files, errors.Join(err, files.CloseMounts())
		}
	}
	if err := p.specify(&job); err != nil {
		return job, files, errors.Join(err, files.CloseMounts())
	}
	return job, files, nil
}

// specify adds the OCI specification, and the seccomp filter, which that leaves out.
func (p *Plan) specify(job *sandbox.Job) (err error) {
	place := p.placement(sandbox.InitPath)
	place.Unfiltered = true
	if job.Spec, err = spec.OCI(p.Analysis, place); err != nil {
		return err
	}
	job.Spec.Process.OOMScoreAdj = likelier(*job.Spec.Process.OOMScoreAdj)
	job.Filter, err = filter.Program(p.Audit)
	return err
}

// likelier raises an out-of-memory score to the launcher's own, below which only the host's root can go
// (proc_pid_oom_score_adj(5)).
func likelier(score int) *int {
	raw, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return &score
	}
	if own, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && own > score {
		score = own
	}
	return &score
}

// detach clones what the run binds as detached mounts, from the descriptors that were checked.
func (p *Plan) detach(job *sandbox.Job, files *jobFiles) error {
	for i, in := range p.Inputs.Inputs {
		mount, err := sandbox.DetachReadOnly(in.File)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Bind.Source, err)
		}
		job.Binds[i].Mount = files.add(mount)
		if in.Bind.Directory {
			continue
		}
		if mount, err := detachParent(in.Bind); err == nil { // else the supervisor tries
			job.Binds[i].ParentMount = files.add(mount)
		}
	}
	if p.Base != nil {
		mount, err := sandbox.DetachReadOnly(p.Base.File)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Base, err)
		}
		job.Base.Mount = files.add(mount)
	}
	mount, err := sandbox.DetachReadWrite(files.All[0])
	if err != nil {
		return fmt.Errorf("%s: %w", job.WorkPath, err)
	}
	job.WorkMount = files.add(mount)
	return nil
}

// detachParent detaches a file's directory; the supervisor checks that the file is still in it.
func detachParent(b sandbox.Bind) (*os.File, error) {
	dir, err := inode.Open(filepath.Dir(b.Place))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return sandbox.DetachReadOnly(dir)
}

// placement returns the run's paths for its OCI specification. The supervisor fills in the host's paths of the root and of
// /work.
func (p *Plan) placement(init string) spec.Placement {
	place := spec.Placement{
		Root:        "/",
		Work:        "/work",
		UIDMappings: p.mappings(), GIDMappings: p.mappings(),
		UID: p.uid(), GID: p.uid(),
		Init: []string{"/dev/scidex-init"}, InitSource: init,
		Command: p.Command,
		Secrets: p.secrets,
		HasData: p.Inputs.HasData, HasDocs: p.Inputs.HasDocs,
		NoFile: p.noFile(), Audit: p.Audit,
		ImageEnv: p.Base.environment(),
	}
	if r := p.Inputs.Runtime; r != nil {
		place.Runtime, place.RuntimeVariable = r.Dir, r.Variable
	}
	for _, b := range p.Tree.Binds {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	for _, b := range p.Inputs.Binds() {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	return place
}

// FixOOMScore writes the score once more as the host's root, which makes it the minimum that the process can set
// (proc_pid_oom_score_adj(5)). Root of a container may not; then the score is only set.
func FixOOMScore(pid int) {
	path := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if score, err := os.ReadFile(path); err == nil {
		_ = os.WriteFile(path, score, 0)
	}
}

// jobFiles are the descriptors sent with a job; those from mounts on are the job's alone.
type jobFiles struct {
	All    []*os.File
	mounts int
}

func (f *jobFiles) add(mount *os.File) int {
	f.All = append(f.All, mount)
	return len(f.All) - 1
}

func (f jobFiles) CloseMounts() error {
	var errs []error
	for _, m := range f.All[f.mounts:] {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
