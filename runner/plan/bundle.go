package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
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
	place := p.placement("")
	place.Root, place.Work, place.Init = "rootfs", workspace.RunDir(host.Tmp, p.Key.ID)+"/"+workspace.WorkName, nil
	place.Portable = true
	place.Secrets = nil
	return marshalSpec(p.Analysis, place)
}

// prepareSpec prepares a plan that is shown and not run: neither catalog nor who would enforce the limits matters.
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
	if err := makeEmpty(dir); err != nil {
		return &request.Error{Err: err}
	}
	place := p.placement("")
	place.Root, place.Work = filepath.Join(dir, "rootfs"), filepath.Join(dir, workspace.WorkName)
	place.Init, place.Portable, place.Secrets = nil, true, nil
	if err := p.forCaller(&place); err != nil {
		return err
	}
	config, err := marshalSpec(p.Analysis, place)
	if err != nil {
		return err
	}
	if err := p.layOut(place); err != nil {
		return fmt.Errorf("bundle %q: %w", dir, err)
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644)
}

func makeEmpty(dir string) error {
	if err := os.Mkdir(dir, 0o755); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("--bundle %q is not empty; choose another directory", dir)
	}
	return err
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
func (p *Plan) layOut(place spec.Placement) error {
	for _, dir := range []string{place.Root, place.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := p.Tree.Populate(place.Root); err != nil {
		return err
	}
	for _, b := range p.Inputs.Binds() {
		if err := rootfs.MountPoint(place.Root, b.Destination, b.Directory); err != nil {
			return err
		}
	}
	for _, path := range p.Analysis.WorkDirs() {
		if err := rootfs.MountPoint(place.Root, path, true); err != nil {
			return err
		}
	}
	owner := int(place.UIDMappings[len(place.UIDMappings)-1].HostID)
	group := int(place.GIDMappings[len(place.GIDMappings)-1].HostID)
	// runc 1.1 gives a tmpfs the mode of the directory below it, whatever its options say.
	home := filepath.Join(place.Root, "home/analysis")
	return errors.Join(os.Chmod(filepath.Join(place.Root, "tmp"), 0o777|os.ModeSticky),
		os.Chown(home, owner, group), os.Chmod(home, 0o700),
		os.Chown(place.Work, owner, group), os.Chmod(place.Work, 0o700))
}
