// Package binds decides what a run may show its analysis of the host: not the sockets of services, nor this program's own
// files, nor the directories of living runs, nor what config files exclude.
//
// Inputs, their contents and their parents are compared by path, by the inodes above them and by their location in the file
// system, so that no link, parent or bind mount reaches what must not be bound: the sockets of PostgreSQL and of the caller,
// the root, live runs, and what allow_binds excludes.
package binds

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// Allowed are the binds that a config file allows (allow_binds).
type Allowed struct {
	File string // the config file, for messages
	// Prefixes are absolute paths. What a run binds or stages must be or lie below one of them: if none, nothing may.
	Prefixes []string
}

// Boundary is what of this host must not be shown, and what may be. The zero value excludes only living runs.
type Boundary struct {
	mounts  []*mountinfo.Info
	sites   []located
	allowed []allowance
}

// allowance is an Allowed with the inodes of its prefixes.
type allowance struct {
	Allowed
	tops []inode.ID
}

// New resolves what no bind may show, and the allowed prefixes.
func New(host Host, allowed []Allowed, log *slog.Logger) (*Boundary, error) {
	return newBoundary(host.sites(), allowed, log)
}

func newBoundary(sites []site, allowed []Allowed, log *slog.Logger) (*Boundary, error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, err
	}
	b := &Boundary{mounts: mounts}
	for _, s := range sites {
		if s.path = filepath.Clean(s.path); !filepath.IsAbs(s.path) {
			continue // not set
		}
		p, err := s.find(mounts)
		if err != nil {
			return nil, fmt.Errorf("look up %q: %w", s.path, err)
		}
		b.sites = append(b.sites, p)
	}
	for _, a := range allowed {
		b.allowed = append(b.allowed, allowance{a, tops(a, log)})
	}
	return b, nil
}

// tops are the inodes of the prefixes. A missing one allows nothing.
func tops(a Allowed, log *slog.Logger) (ids []inode.ID) {
	for _, prefix := range a.Prefixes {
		f, err := inode.Open(prefix)
		if err != nil {
			log.Debug("an allowed prefix allows nothing", "file", a.File, "prefix", prefix, "error", inode.Plain(err))
			continue
		}
		if st, err := inode.Stat(int(f.Fd()), ""); err == nil {
			ids = append(ids, inode.Of(st))
		}
		_ = f.Close() // it was only checked
	}
	return ids
}

// Check refuses an open file or directory that must not be shown, and returns its Identity. name is its name in messages.
func (b *Boundary) Check(name string, f *os.File) (Identity, error) {
	t, err := identify(f, b.mounts)
	if err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	if t.path != f.Name() {
		name += fmt.Sprintf(" (%s)", t.path)
	}
	return t, b.refuse(name, t)
}

func (b *Boundary) refuse(name string, t Identity) error {
	if t.live != "" {
		return fmt.Errorf("%s: %q: %w", name, t.live, lockdir.ErrLocked)
	}
	for _, p := range b.sites {
		if err := p.refuse(name, t); err != nil {
			return err
		}
	}
	for _, a := range b.allowed {
		if err := a.refuse(name, t); err != nil {
			return err
		}
	}
	return nil
}

func (a allowance) refuse(name string, t Identity) error {
	if slices.ContainsFunc(t.ids, func(id inode.ID) bool { return slices.Contains(a.tops, id) }) {
		return nil
	}
	if len(a.Prefixes) == 0 {
		return fmt.Errorf("%s: config file %q allows nothing to be bound (allow_binds is empty); leave it out, or give none", name, a.File)
	}
	return fmt.Errorf("%s lies outside of what config file %q allows to be bound (allow_binds: %s); choose another, leave it out, or give none",
		name, a.File, strings.Join(a.Prefixes, ", "))
}

// RefuseMounts refuses a mount below a checked directory: its content was not checked, and is not bound with it.
func (b *Boundary) RefuseMounts(t Identity) error {
	for _, m := range b.mounts {
		// One with such a path but another parent is hidden by a mount on the directory.
		if m.Parent == t.mount && m.Mountpoint != t.path && within(m.Mountpoint, t.path) {
			return MountedBelow(m.Mountpoint)
		}
	}
	return nil
}

// MountedBelow refuses a directory with a mount below it, at path.
func MountedBelow(path string) error {
	return fmt.Errorf("%q is mounted below it; bind that by itself with --input, or a directory without mounts", path)
}

var errGone = errors.New("it was moved or removed during the check; start again")
