package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/filter"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// job translates the plan for the supervisor. Root's supervisor has ids of the range and cannot open
// what only root can: root hands such things over as detached mounts.
// script is what is kept of the script.
func (p *plan) job(dir *workdir, ingest, script *os.File) (sandbox.Job, jobFiles, error) {
	files := jobFiles{all: []*os.File{dir.work, ingest}, mounts: 2}
	job := sandbox.Job{
		ID:             p.key.ID,
		FixedAddresses: p.analysis.Repeats(),
		Tree:           p.tree,
		WorkPath:       filepath.Join(dir.path, workName),
		Links:          p.links(),
		Audit:          p.audit,
		Bound:          p.bound(), WorkTmpfs: p.tmpfs(), Floor: p.floor,
		Owner:   p.slot.Analysis,
		Timeout: time.Duration(p.analysis.Timeout),
		Grace:   time.Duration(p.analysis.Grace),
		Crowded: p.analysis.Limits == spec.LimitsOuter,
	}
	for _, in := range p.inputs.inputs {
		job.Binds = append(job.Binds, in.bind)
	}
	if p.base != nil {
		bind := p.base.bind
		job.Base = &bind
	}
	if s := p.inputs.script; s != nil && s.alone != nil {
		job.Script = &sandbox.Script{Path: s.inside, Mode: s.mode, File: len(files.all)}
		files.all, files.mounts = append(files.all, script), files.mounts+1
	}
	if err := p.hold(&job, &files); err != nil {
		return job, files, err
	}
	if p.account.Root() {
		if err := p.detach(&job, &files); err != nil {
			return job, files, errors.Join(err, files.closeMounts())
		}
	}
	if err := p.specify(&job); err != nil {
		return job, files, errors.Join(err, files.closeMounts())
	}
	return job, files, nil
}

// specify adds the OCI specification, and the filter of system calls, which that leaves out.
func (p *plan) specify(job *sandbox.Job) (err error) {
	place := p.placement(sandbox.InitPath)
	place.Unfiltered = true
	if job.Spec, err = spec.OCI(p.analysis, place); err != nil {
		return err
	}
	job.Spec.Process.OOMScoreAdj = likelier(*job.Spec.Process.OOMScoreAdj)
	job.Filter, err = filter.Program(p.audit)
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
func (p *plan) detach(job *sandbox.Job, files *jobFiles) error {
	for i, in := range p.inputs.inputs {
		mount, err := sandbox.DetachReadOnly(in.file)
		if err != nil {
			return fmt.Errorf("%s: %w", in.bind.Source, err)
		}
		job.Binds[i].Mount = files.add(mount)
		if in.bind.Directory {
			continue
		}
		if mount, err := detachParent(in.bind); err == nil { // else the supervisor tries
			job.Binds[i].ParentMount = files.add(mount)
		}
	}
	if p.base != nil {
		mount, err := sandbox.DetachReadOnly(p.base.file)
		if err != nil {
			return fmt.Errorf("%s: %w", p.base, err)
		}
		job.Base.Mount = files.add(mount)
	}
	mount, err := sandbox.DetachReadWrite(files.all[0])
	if err != nil {
		return fmt.Errorf("%s: %w", job.WorkPath, err)
	}
	job.WorkMount = files.add(mount)
	return nil
}

// detachParent is of the directory that a single file is in; the supervisor looks whether it still is.
func detachParent(b sandbox.Bind) (*os.File, error) {
	dir, err := inode.Open(filepath.Dir(b.Place))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return sandbox.DetachReadOnly(dir)
}

// placement is where the run is, for its OCI specification. The host's paths of the root and of /work
// are the supervisor's to fill in.
func (p *plan) placement(init string) spec.Placement {
	place := spec.Placement{
		Root:        "/",
		Work:        "/work",
		UIDMappings: p.mappings(), GIDMappings: p.mappings(),
		UID: p.uid(), GID: p.uid(),
		Init: []string{"/dev/scidex-init"}, InitSource: init,
		Command: p.command,
		Secrets: p.secrets,
		HasData: p.inputs.hasData, HasDocs: p.inputs.hasDocs,
		NoFile: p.noFile(), Audit: p.audit,
		ImageEnv: p.base.environment(),
	}
	if r := p.inputs.runtime; r != nil {
		place.Runtime, place.RuntimeVariable = r.dir, r.variable
	}
	for _, b := range p.tree.Binds {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	for _, b := range p.inputs.binds() {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	return place
}

// mappings of the container's user namespace onto the outer one: its root and the analysis.
func (p *plan) mappings() []specs.LinuxIDMapping {
	if p.single() {
		return []specs.LinuxIDMapping{{ContainerID: 0, HostID: 0, Size: 1}}
	}
	return []specs.LinuxIDMapping{
		{ContainerID: 0, HostID: uint32(p.slot.Container), Size: 1},
		{ContainerID: p.uid(), HostID: uint32(p.slot.Analysis), Size: 1},
	}
}

// noFile is the RLIMIT_NOFILE of the analysis, 0 for the default.
func (p *plan) noFile() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return filesFor(limit.Max, p.analysis.IDs == spec.IDsSelf)
}

// filesFor is the greatest RLIMIT_NOFILE that may be given below the caller's hard limit, 0 where that is enough for the
// default: only the host's root can raise a hard limit (getrlimit(2)).
//
// With a single id the account's descriptors that are under way in sockets count together, and each sender compares them with
// its own limit (unix(7), ETOOMANYREFS). So that analyses of the account cannot take them from its launchers, which
// have the hard limit, they get half of it at most; and not many where the caller has many, for what else the account
// has in common, epoll watches and pipes, they reach by descriptors.
func filesFor(hard uint64, single bool) uint64 {
	const enough, few = 65536, 4096
	switch {
	case single:
		return min(few, hard/2)
	case hard >= enough:
		return 0
	default:
		return hard
	}
}

// fixOOMScore writes the score once more as the host's root, which makes it the least that the process
// can give itself (proc_pid_oom_score_adj(5)). Root of a container may not; the score then only stands.
func fixOOMScore(pid int) {
	path := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if score, err := os.ReadFile(path); err == nil {
		_ = os.WriteFile(path, score, 0)
	}
}

// jobFiles are the descriptors that travel with a job; those from mounts on are the job's alone.
type jobFiles struct {
	all    []*os.File
	mounts int
}

func (f *jobFiles) add(mount *os.File) int {
	f.all = append(f.all, mount)
	return len(f.all) - 1
}

func (f jobFiles) closeMounts() error {
	var errs []error
	for _, m := range f.all[f.mounts:] {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
