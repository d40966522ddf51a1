package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Allowed are the binds that a config file allows (allow_binds).
type Allowed struct {
	File string // the config file, for messages
	// Prefixes are absolute paths. What a run binds or stages must be or lie below one of them: of none,
	// nothing may.
	Prefixes []string
}

// boundary says what of the host a run may show to its analysis.
type boundary struct {
	mounts  []*mountinfo.Info
	places  []place
	allowed []allowance
}

// allowance is an Allowed with the inodes of its prefixes.
type allowance struct {
	Allowed
	tops []fileID
}

// newBoundary looks up the sites that no bind may show, and the prefixes that are allowed.
func newBoundary(sites []site, allowed []Allowed, log *slog.Logger) (*boundary, error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, err
	}
	b := &boundary{mounts: mounts}
	for _, s := range sites {
		if s.path = filepath.Clean(s.path); !filepath.IsAbs(s.path) {
			continue // not set
		}
		p, err := s.find(mounts)
		if err != nil {
			return nil, fmt.Errorf("look up %q: %w", s.path, err)
		}
		b.places = append(b.places, p)
	}
	for _, a := range allowed {
		b.allowed = append(b.allowed, allowance{a, tops(a, log)})
	}
	return b, nil
}

// tops are the inodes of the prefixes. One that does not exist allows nothing.
func tops(a Allowed, log *slog.Logger) (ids []fileID) {
	for _, prefix := range a.Prefixes {
		f, err := openPath(prefix)
		if err != nil {
			log.Debug("an allowed prefix allows nothing", "file", a.File, "prefix", prefix, "error", plain(err))
			continue
		}
		if st, err := statAt(int(f.Fd()), ""); err == nil {
			ids = append(ids, identityOf(st))
		}
		_ = f.Close() // it was only looked at
	}
	return ids
}

// check refuses a file that must not be shown. name is what a message calls it.
func (b *boundary) check(name string, t trail) error {
	if t.live != "" {
		return fmt.Errorf("%s: %q: %w", name, t.live, errLives)
	}
	for _, p := range b.places {
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

func (a allowance) refuse(name string, t trail) error {
	if slices.ContainsFunc(t.ids, func(id fileID) bool { return slices.Contains(a.tops, id) }) {
		return nil
	}
	if len(a.Prefixes) == 0 {
		return fmt.Errorf("%s: config file %q allows nothing to be bound (allow_binds is empty); leave it out, or give none", name, a.File)
	}
	return fmt.Errorf("%s lies outside of what config file %q allows to be bound (allow_binds: %s); choose another, leave it out, or give none",
		name, a.File, strings.Join(a.Prefixes, ", "))
}

// refuseMounts names a mount below a directory: what is mounted there is not what was checked, and is not
// bound with it.
func (b *boundary) refuseMounts(t trail) error {
	for _, m := range b.mounts {
		// One with such a path but another parent is hidden by what is mounted on the directory.
		if m.Parent == t.mount && m.Mountpoint != t.path && within(m.Mountpoint, t.path) {
			return mountedBelow(m.Mountpoint)
		}
	}
	return nil
}

func mountedBelow(path string) error {
	return fmt.Errorf("%q is mounted below it; bind that by itself with --input, or a directory without mounts", path)
}

var errGone = errors.New("it was moved or removed during the check; start again")
