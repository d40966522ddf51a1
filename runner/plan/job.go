package plan

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/filter"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/preload"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Own are files of the run that its analysis reads; nil where there is none.
type Own struct {
	Script *os.File // the kept script
	Stdin  *os.File // the standard input, the read end of a pipe
	// Terminal is all three streams in place of pipes.
	Terminal *os.File
	Trace    map[string]string // the variables of its trace context
}

// Job translates the plan for the supervisor. Root's supervisor has ids of the range and cannot open what only root can:
// root passes such things as detached mounts.
func (p *Plan) Job(dir *workspace.Workdir, ingest *os.File, own Own) (protocol.Job, jobFiles, error) {
	m := &jobMaker{plan: p, job: p.plainJob(dir), files: jobFiles{All: []*os.File{dir.Work, ingest}, mounts: 2}}
	m.addScript(own.Script)
	m.addStdin(cmp.Or(own.Terminal, own.Stdin))
	m.job.Terminal = own.Terminal != nil
	m.trace = own.Trace
	if err := first(m.holdImage, m.detach, m.specify); err != nil {
		return m.job, m.files, errors.Join(err, m.files.CloseMounts())
	}
	return m.job, m.files, nil
}

// plainJob is the part of a job that needs no descriptors.
func (p *Plan) plainJob(dir *workspace.Workdir) protocol.Job {
	job := protocol.Job{
		ID:             p.Key.ID,
		FixedAddresses: p.Analysis.Repeats(),
		Tree:           p.Tree,
		Cache:          p.Extra.Cache,
		Ahead:          p.Extra.Ahead,
		AheadWithin:    protocol.LongestAhead,
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
		job.Binds = append(job.Binds, in.Bind)
	}
	if p.Base != nil {
		bind := p.Base.Bind
		job.Base = &bind
	}
	return job
}

// jobMaker adds to the job of a plan what goes with descriptors.
type jobMaker struct {
	plan  *Plan
	job   protocol.Job
	files jobFiles
	trace map[string]string
}

// addScript adds the kept script, where it is shown alone.
func (m *jobMaker) addScript(kept *os.File) {
	if s := m.plan.Inputs.Script; s != nil && s.Alone != nil {
		m.job.Script = &protocol.Script{Path: s.Inside, Mode: s.Mode, File: len(m.files.All), Early: m.plan.Extra.Script}
		m.files.All, m.files.mounts = append(m.files.All, kept), m.files.mounts+1
	}
}

// addStdin adds the standard input.
func (m *jobMaker) addStdin(stdin *os.File) {
	if stdin != nil {
		m.job.Stdin = len(m.files.All)
		m.files.All, m.files.mounts = append(m.files.All, stdin), m.files.mounts+1
	}
}

// holdImage lets the supervisor keep an image's root in use: it may outlive this process for a moment, and the root must not
// be removed under its analysis.
func (m *jobMaker) holdImage() error {
	if m.plan.Base == nil || m.plan.Base.Image == nil {
		return nil
	}
	fd, err := unix.FcntlInt(m.plan.Base.Image.Hold().Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	m.job.Hold = m.files.add(os.NewFile(uintptr(fd), m.plan.Base.Bind.Source))
	return nil
}

// detach clones what root's run binds as detached mounts, from the descriptors that were checked.
func (m *jobMaker) detach() error {
	if !m.plan.Account.Root() {
		return nil
	}
	for i, in := range m.plan.Inputs.Inputs {
		mount, err := mountfd.DetachReadOnly(in.File)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Bind.Source, err)
		}
		m.job.Binds[i].Mount = m.files.add(mount)
		if in.Bind.Directory {
			continue
		}
		if mount, err := detachParent(in.Bind); err == nil { // else the supervisor tries
			m.job.Binds[i].ParentMount = m.files.add(mount)
		}
	}
	if m.plan.Base != nil {
		mount, err := mountfd.DetachReadOnly(m.plan.Base.File)
		if err != nil {
			return fmt.Errorf("%s: %w", m.plan.Base, err)
		}
		m.job.Base.Mount = m.files.add(mount)
	}
	mount, err := mountfd.DetachReadWrite(m.files.All[0])
	if err != nil {
		return fmt.Errorf("%s: %w", m.job.WorkPath, err)
	}
	m.job.WorkMount = m.files.add(mount)
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

// specify adds the OCI specification, and the seccomp filter, which that leaves out.
func (m *jobMaker) specify() (err error) {
	place := m.plan.placement()
	place.Unfiltered, place.Trace = true, m.trace
	if m.plan.Extra.Ahead != nil {
		place.Command = preload.Direct(place.Command)
	}
	if m.job.Spec, err = spec.OCI(m.plan.Analysis, place); err != nil {
		return err
	}
	spec.AddInit(m.job.Spec, protocol.InitPath)
	m.job.Spec.Process.OOMScoreAdj = likelier(*m.job.Spec.Process.OOMScoreAdj)
	m.job.Filter, err = filter.Program(m.plan.Audit)
	return err
}
