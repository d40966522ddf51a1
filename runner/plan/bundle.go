package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Spec returns the OCI config.json that a run of the analysis would have, indented. Nothing is made.
func Spec(ctx context.Context, host *phase.Host, a spec.Analysis) (_ []byte, err error) {
	p, err := prepareSpec(ctx, host, a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	place := p.placement()
	place.Root, place.Work = "rootfs", workspace.RunDir(host.Tmp, p.Key.ID)+"/"+workspace.WorkName
	place.Portable = true
	place.Secrets = nil
	return marshalSpec(p.Analysis, place)
}

// prepareSpec prepares a plan that is shown and not run. It reads no catalog and does not ask whether the limits can be enforced.
func prepareSpec(ctx context.Context, host *phase.Host, a spec.Analysis) (*Plan, error) {
	account, err := idmap.ReadAccount()
	if err != nil {
		return nil, err
	}
	a, err = complete(a)
	if err != nil {
		return nil, &request.Error{Err: err}
	}
	key := catalog.Key{ID: a.ID, Attempt: 1}
	if key.ID == "" {
		if key.ID, err = newID(); err != nil {
			return nil, err
		}
	}
	p, err := resolve(ctx, host, a, key, a.Script, account)
	if err == nil {
		err = p.OrClose(first(func() error { return scanInputs(ctx, host, p, request.Request{}) }, p.spread))
	}
	if err != nil {
		return nil, &request.Error{Err: err}
	}
	return p, nil
}

func marshalSpec(a spec.Analysis, place spec.Placement) ([]byte, error) {
	ociSpec, err := spec.OCI(a, place)
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(ociSpec, "", "  ")
	return append(raw, '\n'), err
}

// Bundle writes an OCI bundle that an OCI runtime such as runc runs for the caller: config.json, rootfs/ and an empty work/.
// dir must not exist or be empty.
func Bundle(ctx context.Context, host *phase.Host, a spec.Analysis, dir string) (err error) {
	p, err := prepareSpec(ctx, host, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	top, err := openEmpty(dir)
	if err != nil {
		return &request.Error{Err: fmt.Errorf("--bundle %q: %w", dir, err)}
	}
	defer func() { err = errors.Join(err, top.Close()) }()
	place := p.placement()
	place.Root, place.Work = filepath.Join(dir, "rootfs"), filepath.Join(dir, workspace.WorkName)
	place.Portable, place.Secrets = true, nil
	if err := p.forCaller(&place); err != nil {
		return err
	}
	config, err := marshalSpec(p.Analysis, place)
	if err != nil {
		return err
	}
	if err = p.layOut(place, top); err == nil {
		err = writeConfig(top, config)
	}
	if err != nil {
		err = fmt.Errorf("bundle %q: %w", dir, err)
	}
	return err
}

func writeConfig(dir *userdir.Dir, config []byte) error {
	return dir.Write("config.json", false, 0o644, func(f *os.File) error {
		_, err := f.Write(config)
		return err
	})
}

// openEmpty opens a directory, and makes it if it is missing. Root gives parts of a bundle to other ids, which in a directory of
// another user it has no right to.
func openEmpty(path string) (*userdir.Dir, error) {
	dir, missing, err := userdir.Nearest(path)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another directory", userdir.Plain(err))
	}
	_, _, foreign := dir.Owner()
	if len(missing) == 1 && !foreign {
		made, err := dir.Mkdir(missing[0], 0o755)
		if err != nil {
			err = fmt.Errorf("it cannot be made: %w; choose another directory", userdir.Plain(err))
		}
		return made, errors.Join(err, dir.Close())
	}
	entries, err := dir.Names(1)
	switch {
	case foreign:
		err = errors.New("another user owns a directory of this path; make the bundle as that user, or choose a directory in which only root can write")
	case len(missing) > 0:
		err = fmt.Errorf("the directory %q does not exist; make it first", filepath.Dir(path))
	case len(entries) > 0:
		err = errors.New("it is not empty; choose another directory")
	case err == nil:
		if err = dir.Writable(); err != nil {
			err = fmt.Errorf("it cannot be written: %w; choose another directory", userdir.Plain(err))
		}
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// forCaller maps the container's ids onto the host's: there are no outer namespaces around a bundle. An ordinary user's
// runtime can map only the user without help, so the analysis is uid 0 there.
func (p *Plan) forCaller(place *spec.Placement) error {
	a := p.Account
	uids, gids := p.mappings(), p.mappings()
	if !a.Root() {
		uids, gids = uids[:1], gids[:1]
		uids[0].HostID, gids[0].HostID = uint32(a.UID), uint32(a.GID)
		place.UID, place.GID = 0, 0
	} else {
		for i := range uids {
			uids[i].HostID = uint32(a.HostUID(int(uids[i].HostID)))
			gids[i].HostID = uint32(a.HostGID(int(gids[i].HostID)))
		}
	}
	place.UIDMappings, place.GIDMappings = uids, gids
	return first(func() (err error) { p.Tree, err = p.plant(place.UID); return err }, p.spread)
}

// layOut makes the root filesystem's directories and the working directory.
func (p *Plan) layOut(place spec.Placement, top *userdir.Dir) error {
	root, err := top.Mkdir(filepath.Base(place.Root), 0o755)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := p.populate(root.ProcPath()); err != nil {
		return err
	}
	work, err := top.Mkdir(filepath.Base(place.Work), 0o755)
	if err != nil {
		return err
	}
	defer work.Close()
	tmp, err := root.MakeAll([]string{"tmp"}, 0o755)
	if err != nil {
		return err
	}
	defer tmp.Close()
	home, err := root.MakeAll([]string{"home", "analysis"}, 0o755)
	if err != nil {
		return err
	}
	defer home.Close()
	owner := int(place.UIDMappings[len(place.UIDMappings)-1].HostID)
	group := int(place.GIDMappings[len(place.GIDMappings)-1].HostID)
	// runc 1.1 gives a tmpfs the mode of the directory below it, whatever its options say.
	return errors.Join(give(tmp, -1, -1, 0o777|os.ModeSticky), give(home, owner, group, 0o700), give(work, owner, group, 0o700))
}

// populate makes what the root filesystem holds.
func (p *Plan) populate(root string) error {
	if err := p.Tree.Populate(root); err != nil {
		return err
	}
	for _, b := range p.Inputs.Binds() {
		if err := rootfs.MountPoint(root, b.Destination, b.Directory); err != nil {
			return err
		}
	}
	for _, path := range p.Analysis.WorkDirs() {
		if err := rootfs.MountPoint(root, path, true); err != nil {
			return err
		}
	}
	return nil
}

// give gives a directory an owner, -1 for the one that it has, and a mode.
func give(dir *userdir.Dir, owner, group int, mode fs.FileMode) error {
	f, err := dir.File()
	if err != nil {
		return err
	}
	return errors.Join(f.Chown(owner, group), f.Chmod(mode), f.Close())
}
