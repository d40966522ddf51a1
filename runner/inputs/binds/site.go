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

// located is a site as it is on this host, its symbolic links resolved.
type located struct {
	site
	Identity
	missing bool // it does not exist; of the Identity only the nearest existing parent does
}

// find looks a site up as far as it exists and the caller can look.
func (s site) find(mounts []*mountinfo.Info) (located, error) {
	p := located{site: s}
	for path, rest := s.path, ""; ; path = filepath.Dir(path) {
		t, err := identifyPath(path, mounts)
		if err == nil {
			p.Identity, p.missing = t, rest != ""
			p.extend(rest)
			return p, nil
		}
		if path == "/" {
			return p, err
		}
		rest = filepath.Join(filepath.Base(path), rest)
	}
}

func identifyPath(path string, mounts []*mountinfo.Info) (t Identity, err error) {
	f, err := inode.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	return identify(f, mounts)
}

// refuse refuses a file that would show the site.
func (p located) refuse(name string, t Identity) error {
	switch {
	case !p.missing && t.ids[0] == p.ids[0]:
		return fmt.Errorf("%s is %s; choose another", name, p.what)
	case p.within(t):
		return fmt.Errorf("%s holds %q, %s; choose the part of it that the analysis needs", name, p.Identity.path, p.what)
	case p.whole && !p.missing && t.within(p.Identity):
		return fmt.Errorf("%s lies in %q, %s; choose another", name, p.Identity.path, p.what)
	}
	return nil
}
