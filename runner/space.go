package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/spec"
)

// inMemory reports whether /work is a tmpfs.
func (p *plan) inMemory() bool { return p.analysis.WorkStorage == spec.WorkTmpfs }

// bound is what /work may take.
func (p *plan) bound() outputs.Extent {
	return outputs.Extent{Files: p.analysis.WorkFiles, Bytes: int64(p.analysis.WorkSize)}
}

// bounds are those of what goes into /work and of what is taken out of it.
func (p *plan) bounds() outputs.Bounds {
	return outputs.Bounds{MaxEntries: p.analysis.WorkFiles, MaxBytes: int64(p.analysis.WorkSize)}
}

// harvestBounds are those of /work; where a run went past them, as far as it was seen to, so that what was
// written is kept.
func (e *execution) harvestBounds() outputs.Bounds {
	bounds := e.plan.bounds()
	if e.exit.WorkFull != nil {
		bounds.MaxBytes = max(bounds.MaxBytes, e.exit.Work.Bytes)
		bounds.MaxEntries = max(bounds.MaxEntries, e.exit.Work.Files)
	}
	return bounds
}

// ranFull reports whether the run may have been cut off in the middle of a file for want of space.
func (e *execution) ranFull() bool {
	_, full := (ending{exit: e.exit}).outOfSpace()
	return full
}

// tmpfs are the options of /work in the outer namespace; nil where it is on disk.
func (p *plan) tmpfs() []string {
	if !p.inMemory() {
		return nil
	}
	id := uint32(p.slot.Analysis)
	return p.analysis.WorkTmpfs(id, id, len(p.links()))
}

// checkSpace refuses a run where a file system that it writes to is below its floor already.
func checkSpace(host *phase.Host, p *plan) error {
	places := []struct{ path, of string }{{host.Blobs.Dir(), "the blob store"}}
	if !p.inMemory() {
		places = append(places, struct{ path, of string }{host.Tmp, "the working directories (" + host.Tmp + ")"})
	}
	for _, place := range places {
		dir, err := openDir(unix.AT_FDCWD, place.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			continue // what is to be made there says so better
		}
		if err != nil {
			return err
		}
		short, err := host.MinFree.Short(dir, place.of)
		if err = errors.Join(err, dir.Close()); err != nil {
			return err
		}
		if short != nil {
			return fmt.Errorf("%s, which --min-free %s keeps: make room, for instance with `scidex-oci --root %s gc`, or lower --min-free", short, FormatFloor(host.MinFree), host.Root)
		}
	}
	return nil
}

// workEnforced says who holds the bounds of /work.
func workEnforced(a spec.Analysis) []result.Enforcement {
	size, files := int64(a.WorkSize), strconv.FormatInt(a.WorkFiles, 10)
	effective, by := size, result.ByWatchdog
	if a.WorkStorage == spec.WorkTmpfs {
		page := int64(unix.Getpagesize())
		effective, by = (size+page-1)/page*page, result.ByTmpfs
	}
	return []result.Enforcement{
		{Limit: "work_size", Asked: strconv.FormatInt(size, 10), Effective: strconv.FormatInt(effective, 10), By: by},
		{Limit: "work_files", Asked: files, Effective: files, By: by},
	}
}

// noteSpace adds what was seen of /work to the report.
func (e *execution) noteSpace() {
	e.report.Usage.WorkBytes, e.report.Usage.WorkFiles = e.exit.Work.Bytes, e.exit.Work.Files
	if full := e.exit.WorkFull; full != nil {
		e.report.Evidence.WorkBytes, e.report.Evidence.WorkFiles = full.Bytes, full.Files
	}
	if short := e.exit.HostFull; short != nil {
		e.report.Evidence.HostFree, e.report.Evidence.HostFloor = short.Free, short.Floor
	}
}

// outOfSpace is the verdict on a run that passed a bound of /work, or that was ended for the host's sake.
func (e ending) outOfSpace() (verdict, bool) {
	v := verdict{catalog.Failed, result.ReasonWorkFull, max(1, e.ownCode()), e.signal(), ""}
	switch full := e.exit.WorkFull; {
	case e.exit.HostFull != nil:
		v.reason = result.ReasonHostFull
		v.message = e.exit.HostFull.String() + " (--min-free): the analysis was ended"
	case full != nil && full.Bytes > e.bound.Bytes:
		v.message = fmt.Sprintf("/work is full: %d bytes were seen in it, its bound is %d (--work-size)", full.Bytes, e.bound.Bytes)
	case full != nil:
		v.message = fmt.Sprintf("/work is full: %d names were seen in it, its bound is %d (--work-files)", full.Files, e.bound.Files)
	case e.exit.NoSpace && !e.succeeded():
		v.message = fmt.Sprintf("/work is full: its tmpfs of %d bytes and %d names has no space left (--work-size, --work-files)", e.bound.Bytes, e.bound.Files)
	default:
		return v, false
	}
	return v, true
}

// ownCode is the exit code that the analysis ended with by itself, as a shell has it; 0 where it was ended.
func (e ending) ownCode() int {
	switch {
	case !e.exit.Ended:
		return 0
	case e.exit.Status.Signaled():
		return result.SignalBase + int(e.exit.Status.Signal())
	}
	return e.exit.Status.ExitStatus()
}
