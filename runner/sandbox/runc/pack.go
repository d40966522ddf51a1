package runc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/filter"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/spec"
)

// packed is a job as it is sent to the supervisor.
type packed struct {
	job    protocol.Job
	files  []*os.File
	mounts []*os.File // those of files that belong to it
}

// pack adds our init and the filter of system calls to a job, and numbers its files. Root's supervisor has ids of the range and
// cannot open what only root can: root sends such things as detached mounts, made from the descriptors that were checked.
func (s *session) pack(job sandbox.Job) (_ *packed, err error) {
	p := &packed{job: protocol.Job{Job: job}, files: []*os.File{job.Work, job.Ingest}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if job.Script != nil {
		p.job.Files.Script = p.add(job.Script.File)
	}
	p.job.Files.Stdin, p.job.Files.Hold = p.add(job.Stdin), p.add(job.Hold)
	if s.process.account.Root() {
		if err := p.detach(); err != nil {
			return nil, err
		}
	}
	spec.AddInit(job.Spec, protocol.InitPath)
	p.job.Filter, err = filter.Program(job.Audit)
	return p, err
}

// add adds a file and returns its number; that of nil is 0.
func (p *packed) add(f *os.File) int {
	if f == nil {
		return 0
	}
	p.files = append(p.files, f)
	return len(p.files) - 1
}

func (p *packed) addMount(f *os.File) int {
	p.mounts = append(p.mounts, f)
	return p.add(f)
}

// detach clones all that the job binds.
func (p *packed) detach() error {
	for _, b := range p.job.Binds {
		mount, err := mountfd.DetachReadOnly(b.File)
		if err != nil {
			return fmt.Errorf("%s: %w", b.Source, err)
		}
		mounts := protocol.Mounts{Source: p.addMount(mount)}
		if !b.Directory {
			if parent, err := detachParent(b); err == nil { // else the supervisor tries
				mounts.Parent = p.addMount(parent)
			}
		}
		p.job.Files.Binds = append(p.job.Files.Binds, mounts)
	}
	if base := p.job.Base; base != nil {
		mount, err := mountfd.DetachReadOnly(base.File)
		if err != nil {
			return fmt.Errorf("--rootfs %q: %w", base.Source, err)
		}
		p.job.Files.Base = p.addMount(mount)
	}
	mount, err := mountfd.DetachReadWrite(p.job.Work)
	if err != nil {
		return fmt.Errorf("%s: %w", p.job.WorkPath, err)
	}
	p.job.Files.Work = p.addMount(mount)
	return nil
}

// detachParent detaches a file's directory; the supervisor checks that the file is still in it.
func detachParent(b sandbox.Bind) (*os.File, error) {
	dir, err := inode.Open(filepath.Dir(b.RealPath))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return mountfd.DetachReadOnly(dir)
}

// close closes what was made for the job.
func (p *packed) close() error {
	var errs []error
	for _, m := range p.mounts {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
