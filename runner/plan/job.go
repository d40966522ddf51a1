package plan

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
	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Job translates the plan for the supervisor. Root's supervisor has ids of the range and cannot open what only root can:
// root passes such things as detached mounts. script is the kept script.
func (p *Plan) Job(dir *workspace.Workdir, ingest, script *os.File) (protocol.Job, jobFiles, error) {
	files := jobFiles{All: []*os.File{dir.Work, ingest}, mounts: 2}
	job := protocol.Job{
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
		job.Script = &protocol.Script{Path: s.Inside, Mode: s.Mode, File: len(files.All)}
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
func (p *Plan) specify(job *protocol.Job) (err error) {
	place := p.placement(protocol.InitPath)
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
func (p *Plan) detach(job *protocol.Job, files *jobFiles) error {
	for i, in := range p.Inputs.Inputs {
		mount, err := mountfd.DetachReadOnly(in.File)
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
		mount, err := mountfd.DetachReadOnly(p.Base.File)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Base, err)
		}
		job.Base.Mount = files.add(mount)
	}
	mount, err := mountfd.DetachReadWrite(files.All[0])
	if err != nil {
		return fmt.Errorf("%s: %w", job.WorkPath, err)
	}
	job.WorkMount = files.add(mount)
	return nil
}

// detachParent detaches a file's directory; the supervisor checks that the file is still in it.
func detachParent(b protocol.Bind) (*os.File, error) {
	dir, err := inode.Open(filepath.Dir(b.Place))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return mountfd.DetachReadOnly(dir)
}

// placement returns the run's paths for its OCI specification. The supervisor fills in the host's paths of the root and of
// /work.
func (p *Plan) placement(init string) spec.Placement {
	place := spec.Placement{
		Root:        "/",
		Work:        "/work",
		UIDMappings: p.mappings(), GIDMappings: p.mappings(),
		UID: p.UID(), GID: p.UID(),
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

// mappings maps the container's user namespace onto the outer: its root and the analysis.
func (p *Plan) mappings() []specs.LinuxIDMapping {
	if p.single() {
		return []specs.LinuxIDMapping{{ContainerID: 0, HostID: 0, Size: 1}}
	}
	return []specs.LinuxIDMapping{
		{ContainerID: 0, HostID: uint32(p.slot.Container), Size: 1},
		{ContainerID: p.UID(), HostID: uint32(p.slot.Analysis), Size: 1},
	}
}

// noFile is the RLIMIT_NOFILE of the analysis, 0 for the default.
func (p *Plan) noFile() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return filesFor(limit.Max, p.Analysis.IDs == spec.IDsSelf)
}

// filesFor returns the highest RLIMIT_NOFILE to give below the caller's hard limit, 0 where that is enough for the default:
// only the host's root can raise a hard limit (getrlimit(2)).
//
// With a single id the account's descriptors in flight in sockets count together, and each sender compares them with its own
// limit (unix(7), ETOOMANYREFS). So that analyses cannot take them from the account's launchers, which have the hard limit,
// they get at most half of it; and not many where the caller has many, since through descriptors they reach the account's
// shared epoll watches and pipes.
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
