package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
)

// CatalogID returns the identity of the catalog that the store belongs to, or "" if none yet.
func (s *Store) CatalogID(ctx context.Context) (string, error) {
	if s.remote == nil {
		id, err := s.idHere()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bound = id
		return id, err
	}
	id, err := s.remote.CatalogID(ctx)
	if err == nil && id != "" {
		err = checkID(id)
	}
	if err != nil {
		return "", fmt.Errorf("blob store: %w", err)
	}
	return id, nil
}

func (s *Store) idHere() (string, error) {
	content, err := os.ReadFile(filepath.Join(s.Dir(), idFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("blob store: %w", err)
	}
	id := strings.TrimSuffix(string(content), "\n")
	if err := checkID(id); err != nil {
		return "", fmt.Errorf("blob store: %s: %w", filepath.Join(s.Dir(), idFile), err)
	}
	return id, nil
}

// CheckReplaced returns an error if the directory of blobs is no longer the one that was opened, or has lost or changed its
// catalog: then it lacks what was published. It sends no request to a remote store.
func (s *Store) CheckReplaced() error {
	if s.remote != nil {
		return nil
	}
	if err := s.Store.CheckReplaced(); err != nil {
		return err
	}
	s.mu.Lock()
	bound := s.bound
	s.mu.Unlock()
	id, err := s.idHere()
	if err == nil && bound != "" && id != bound {
		err = fmt.Errorf("blob store %s: it belonged to the catalog %s when this command began, and its %s now says %q; put it back, or a copy of it from a backup", s, bound, idFile, id)
	}
	return err
}

// SetCatalogID binds the store to a catalog, permanently. The same identity again is no error; another one is.
func (s *Store) SetCatalogID(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	set := func() error { return s.writeID(id) }
	if s.remote != nil {
		set = func() error { return s.remote.SetCatalogID(ctx, id) }
	}
	if err := set(); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("blob store: catalog id: %w", err)
	}
	got, err := s.CatalogID(ctx)
	if err == nil && got != id {
		err = fmt.Errorf("blob store %s belongs to the catalog %s, not to %s; give each catalog its own with --blobs", s, got, id)
	}
	return err
}

// ChangeCatalogID gives the store of one catalog to another, which has rows for everything the first has rows for. Repeating
// the call is no error. The caller must hold Sweep.
func (s *Store) ChangeCatalogID(ctx context.Context, from, to string) error {
	if err := checkID(to); err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	got, err := s.CatalogID(ctx)
	switch {
	case err != nil || got == to:
		return err
	case got != "" && got != from:
		return fmt.Errorf("blob store %s belongs to the catalog %s, not to %s", s, got, from)
	}
	change := func() error { return s.replaceID(to) }
	if s.remote != nil {
		change = func() error { return s.remote.ChangeCatalogID(ctx, to) }
	}
	if err := change(); err != nil {
		return fmt.Errorf("blob store: catalog id: %w", err)
	}
	return nil
}

// Same reports whether two stores are one.
func Same(a, b *Store) (bool, error) {
	if a.remote != nil || b.remote != nil {
		return a.String() == b.String(), nil
	}
	ours, err := os.Stat(a.Dir())
	if err != nil {
		return false, fmt.Errorf("blob store: %w", err)
	}
	theirs, err := os.Stat(b.Dir())
	if err != nil {
		return false, fmt.Errorf("blob store: %w", err)
	}
	return os.SameFile(ours, theirs), nil
}

// writeID writes the file whole or not at all, and never replaces another.
func (s *Store) writeID(id string) error {
	if _, err := os.Lstat(filepath.Join(s.Dir(), idFile)); err == nil {
		return fs.ErrExist
	}
	return s.placeID(id, atomicfile.WriteFirst)
}

// replaceID replaces the file.
func (s *Store) replaceID(id string) error { return s.placeID(id, atomicfile.Write) }

// placeID writes the file by put, with the temporary one in an ingest directory.
func (s *Store) placeID(id string, put func(path, temp string, d atomicfile.Durability, write func(*os.File) error) error) (err error) {
	ingest, err := s.NewIngest(idFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ingest.Close()) }()
	return put(filepath.Join(s.Dir(), idFile), filepath.Join(ingest.Dir().Name(), idFile), atomicfile.Durable, func(f *os.File) error {
		_, err := f.WriteString(id + "\n")
		return errors.Join(err, f.Chmod(0o400))
	})
}

// checkID accepts one short line of ordinary characters.
func checkID(id string) error {
	if id == "" || len(id) > 128 {
		return fmt.Errorf("catalog id %.80q: it has %d characters, not 1 to 128", id, len(id))
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("catalog id %q: only printable ASCII without spaces may occur in it", id)
		}
	}
	return nil
}
