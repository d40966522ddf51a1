package binds

import (
	"fmt"
	"path/filepath"

	"github.com/moby/sys/mountinfo"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// site is a path of the host that no bind may be, or hold.
type site struct {
	path  string // absolute
	what  string // "where PostgreSQL has its sockets"
	whole bool   // nor may a bind lie in it
}

// place is a site as it is on this host, its symbolic links resolved.
type place struct {
	site
	Trail
	missing bool // it does not exist; the trail starts at the nearest existing parent
}

// find looks a site up as far as it exists and the caller can look.
func (s site) find(mounts []*mountinfo.Info) (place, error) {
	p := place{site: s}
	for path, rest := s.path, ""; ; path = filepath.Dir(path) {
		t, err := trailTo(path, mounts)
		if err == nil {
			p.Trail, p.missing = t, rest != ""
			p.extend(rest)
			return p, nil
		}
		if path == "/" {
			return p, err
		}
		rest = filepath.Join(filepath.Base(path), rest)
	}
}

func trailTo(path string, mounts []*mountinfo.Info) (t Trail, err error) {
	f, err := inode.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	return trailOf(f, mounts)
}

// refuse refuses a file that would show the site.
func (p place) refuse(name string, t Trail) error {
	switch {
	case !p.missing && t.ids[0] == p.ids[0]:
		return fmt.Errorf("%s is %s; choose another", name, p.what)
	case p.within(t):
		return fmt.Errorf("%s holds %q, %s; choose the part of it that the analysis needs", name, p.Trail.path, p.what)
	case p.whole && !p.missing && t.within(p.Trail):
		return fmt.Errorf("%s lies in %q, %s; choose another", name, p.Trail.path, p.what)
	}
	return nil
}
