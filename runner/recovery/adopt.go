package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// adopted is the workspace of a run that another process began: what it holds on its host.
type adopted struct {
	state    *workspace.StateFile
	location workspace.Location
	dir      *os.File
	ingest   *cas.Ingest
}

// maxRescues bounds how often a gc that is killed, perhaps because a file system does not answer, is followed by another that
// begins the same harvest.
const maxRescues = 3

// harvest notes that the analysis has ended, and harvests.
func (w adopted) harvest(ctx context.Context, ended phase.Ended, from harvest.Source) harvest.Harvested {
	location := w.location
	location.Rescues++
	if err := w.state.Record(location); err != nil {
		return harvest.Failed(err)
	}
	if w.location.Rescues >= maxRescues {
		from.Hopeless = fmt.Errorf("gc has begun to harvest %q %d times and was killed each time; it is not tried again", w.location.Dir, w.location.Rescues)
	}
	return harvest.Run(ctx, from, ended)
}

// openUnharvested opens a run's directory that still has a /work. That may be out of the caller's reach: the supervisor opens
// it.
func openUnharvested(location workspace.Location) (*os.File, error) {
	dir, err := workspace.OpenInode(location.Dir, location)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), workspace.WorkName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "stat", Path: workspace.WorkName, Err: err}, dir.Close())
	}
	return dir, nil
}

// leaveUnharvested handles a run without a /work to harvest. Its directory is missing, or was kept by a launcher that could
// not record so; its exit record would only delay the removal of the ingest directory.
func leaveUnharvested(p *pass, t *workspace.StateFile, location workspace.Location) error {
	if p.dry {
		return nil
	}
	is, err := workspace.LookInode(location.Dir, location)
	if err == nil && is && !location.Ended {
		location.Ended = true
		err = t.Record(location)
	}
	if err != nil {
		return err
	}
	return workspace.Ignore(os.Remove(workspace.ExitRecordPath(t.Path)), fs.ErrNotExist)
}

// ending bounds the wait for the supervisor of a killed launcher, which has the ingest directory until it has ended, too.
const ending = time.Second

// adoptIngest takes over the ingest directory of a run; it returns nil if that is lost, and cas.ErrOwned if the launcher
// lives or another gc is at it.
func adoptIngest(p *pass, key catalog.Key, name string, wait time.Duration) (*cas.Ingest, error) {
	for deadline := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		ingest, err := p.Blobs.AdoptIngest(name)
		if !errors.Is(err, cas.ErrOwned) || !isDead(p.Root, key) || time.Now().After(deadline) {
			return ingest, workspace.Ignore(err, fs.ErrNotExist)
		}
	}
}

// isDead reports whether nothing has the lock of a run's state file.
func isDead(root string, key catalog.Key) bool {
	t, err := workspace.LockDead(root, key, os.Geteuid())
	return t != nil && errors.Join(err, t.Close()) == nil
}

// newIngest makes an ingest directory the supervisor may write to.
func newIngest(p *pass, id string) (*cas.Ingest, error) {
	ingest, err := p.Blobs.NewIngest(id)
	if err != nil || !p.access.account.Root() {
		return ingest, err
	}
	return ingest, ingest.Chown(p.access.account.HostUID(0), p.access.account.HostGID(0))
}
