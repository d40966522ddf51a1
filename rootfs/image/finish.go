package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/rootfs/seal"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
)

// finish seals an unpacked tree, makes it durable, and writes the record, which completes the root.
func finish(ctx context.Context, tree *os.File, root *unpack.Root) error {
	dir := filepath.Dir(tree.Name())
	written := new(errgroup.Group)
	// The kernel writes while the seal is made.
	written.Go(func() error { return unix.Syncfs(int(tree.Fd())) })
	sealed, err := seal.Seal(ctx, tree, filepath.Join(dir, sealFile), root.Sums())
	if err := errors.Join(err, written.Wait()); err != nil {
		return err
	}
	packages, err := packagesOf(tree)
	if err != nil {
		return err
	}
	text, err := json.Marshal(record{
		Version: recordVersion, Digest: sealed.Digest(), Packages: packages, Bytes: sealed.Bytes(), Entries: sealed.Entries(),
	})
	if err != nil {
		return err
	}
	return writeDurably(filepath.Join(dir, recordFile), text)
}

// packagesOf is the digest of a tree's package list, "" if it has none. The path is resolved as in an analysis: no link
// leads out of the tree.
func packagesOf(tree *os.File) (digest.Digest, error) {
	fd, err := beneath.Openat2(int(tree.Fd()), packagesFile, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_NONBLOCK, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		lacks, failed := lacksPackages(tree)
		if lacks || failed != nil {
			return "", failed
		}
		return "", fmt.Errorf("open its list of packages: %w", err)
	}
	f := os.NewFile(uintptr(fd), packagesFile)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	return digest.SHA256.FromReader(f)
}

// lacksPackages reports whether a tree has no package list, by the listings of its directories: they lack the name, or
// have a link on the way that leads to none. A failed open is no proof: a failing file system also reports ENOENT.
func lacksPackages(tree *os.File) (bool, error) {
	at := tree
	for step := range strings.SplitSeq(packagesFile, "/") {
		fd, err := beneath.Reopen(int(at.Fd()))
		if err != nil {
			return false, fmt.Errorf("look for its list of packages: %w", err)
		}
		dir := os.NewFile(uintptr(fd), step)
		defer dir.Close()
		entries, err := dir.ReadDir(-1)
		if err != nil {
			return false, fmt.Errorf("look for its list of packages: %w", err)
		}
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == step })
		switch {
		case i < 0 || entries[i].Type() == fs.ModeSymlink:
			return true, nil
		case !entries[i].IsDir():
			return step != path.Base(packagesFile), nil
		}
		if fd, err = beneath.Open(int(dir.Fd()), step, unix.O_PATH|unix.O_DIRECTORY); err != nil {
			return false, fmt.Errorf("look for its list of packages: %w", err)
		}
		at = os.NewFile(uintptr(fd), step)
		defer at.Close()
	}
	return true, nil // it is a directory
}

func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// ErrDamaged is returned by Check for a root that was changed.
var ErrDamaged = errors.New("the unpacked root filesystem is damaged")

// Check verifies that the root is unchanged since it was unpacked: with lstat(2) of every entry, in some milliseconds,
// and by reading everything only if that differs, as in a copied store. A changed root is ErrDamaged; see Repair.
func (r *Root) Check(ctx context.Context) error {
	if err := r.check(ctx); err != nil {
		return fmt.Errorf("image %q: %w", r.Image.Name, err)
	}
	return nil
}

func (r *Root) check(ctx context.Context) error {
	sealed, err := seal.Open(filepath.Join(r.lock.Name(), sealFile))
	if err != nil {
		return damaged(err)
	}
	if sealed.Digest() != r.Digest {
		return fmt.Errorf("%w: it was sealed with the digest %s and its record says %s", ErrDamaged, sealed.Digest(), r.Digest)
	}
	tree, err := openDir(r.Dir)
	if err != nil {
		return damaged(err)
	}
	defer tree.Close()
	if err := sealed.Confirm(ctx, tree); errors.Is(err, seal.ErrChanged) || errors.Is(err, seal.ErrRecord) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	} else if err != nil {
		return err
	}
	return nil
}

// damaged separates errors of opening a root that a new root repairs from others, such as those of a failing disk. A
// missing root is made again even if the disk only reports it missing: the layers are verified, so nothing is lost.
func damaged(err error) error {
	for _, is := range []error{seal.ErrRecord, os.ErrNotExist, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}
