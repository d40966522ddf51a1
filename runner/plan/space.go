package plan

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// InMemory reports whether /work is a tmpfs.
func (p *Plan) InMemory() bool { return p.Analysis.WorkStorage == spec.WorkTmpfs }

// Bound is the bound of /work.
func (p *Plan) Bound() outputs.Extent {
	return outputs.Extent{Files: p.Analysis.WorkFiles, Bytes: int64(p.Analysis.WorkSize)}
}

// Bounds are those of what goes into /work and of what is taken out of it.
func (p *Plan) Bounds() outputs.Bounds {
	return outputs.Bounds{MaxEntries: p.Analysis.WorkFiles, MaxBytes: int64(p.Analysis.WorkSize)}
}

// tmpfs are the options of /work in the outer namespace; nil if it is on disk.
func (p *Plan) tmpfs() []string {
	if !p.InMemory() {
		return nil
	}
	id := uint32(p.slot.Analysis)
	return p.Analysis.WorkTmpfs(id, id, len(p.Links()))
}

// checkSpace refuses a run if a file system that it writes to is already below its floor.
func checkSpace(host *phase.Host, p *Plan) error {
	places := []struct{ path, of string }{{host.Blobs.Dir(), "the blob store"}}
	if !p.InMemory() {
		places = append(places, struct{ path, of string }{host.Tmp, "the working directories (" + host.Tmp + ")"})
	}
	for _, place := range places {
		dir, err := workspace.OpenDir(unix.AT_FDCWD, place.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			continue // creating it gives the better error
		}
		if err != nil {
			return err
		}
		short, err := host.MinFree.Short(dir, place.of)
		if err = errors.Join(err, dir.Close()); err != nil {
			return err
		}
		if short != nil {
			return fmt.Errorf("%s, which --min-free %s keeps: make room, for instance with `scidex-oci --root %s gc`, or lower --min-free", short, FormatFloor(host.MinFree), format.ShellQuote(host.Root))
		}
	}
	return nil
}

// checkUnharvested refuses a run while as many directories stay after failed harvests as the operator allows: an analysis that
// had a way to make its harvest fail would fill the disk with them. Those of runs that are under way are not counted yet.
func checkUnharvested(host *phase.Host) error {
	all, err := workspace.ReadUnharvested(host.Root)
	if err != nil {
		return err
	}
	bound := host.MaxUnharvested
	allowed := ""
	switch {
	case bound.Dirs > 0 && all.Dirs >= bound.Dirs:
		allowed = fmt.Sprintf("max_unharvested allows %d", bound.Dirs)
	case bound.Bytes > 0 && all.Bytes >= bound.Bytes:
		allowed = "max_unharvested_size allows " + format.Size(bound.Bytes)
	default:
		return nil
	}
	return fmt.Errorf("%d working directories with %s stay because they could not be harvested, one of them at %q, and %s: "+
		"take out of them what you need and remove them with `scidex-oci --root %s rm ID`, or raise the bound in the config file",
		all.Dirs, format.Size(all.Bytes), all.Last, allowed, format.ShellQuote(host.Root))
}
