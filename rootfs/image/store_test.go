package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// imported imports an image that is made here.
func imported(t *testing.T, s *Store, name string, m *made) Imported {
	t.Helper()
	got, err := s.Import(t.Context(), write(t, oci(t, map[string]*made{"": m})), Options{Name: name})
	must(t, err)
	return got
}

func root(t *testing.T, s *Store, name string) *Root {
	t.Helper()
	r, err := s.Root(t.Context(), name)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// roots are the directories of unpacked roots.
func roots(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.roots)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func blobs(t *testing.T, s *Store) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.layout.Dir(), "blobs", "sha256"))
	must(t, err)
	return len(entries)
}

// TestNames gives names, the same ones again, and takes them away.
func TestNames(t *testing.T) {
	s := newStore(t)
	first, second := imageOf(t, tree{"first": "1"}), imageOf(t, tree{"second": "2"})
	one := imported(t, s, "x", first)
	if one.Unchanged || one.Replaced != "" || one.RootFiles != 2 || one.RootSize != 1 || one.RootDigest == "" {
		t.Errorf("new: %+v", one)
	}
	if same := imported(t, s, "x", first); !same.Unchanged || same.Repaired || same.Image != one.Image {
		t.Errorf("the same: %+v", same)
	}
	other := imported(t, s, "x", second)
	if other.Unchanged || other.Replaced != one.Digest || other.RootDigest == one.RootDigest {
		t.Errorf("another: %+v", other)
	}
	if left := roots(t, s); len(left) != 1 {
		t.Errorf("roots %q; that of the old image has no name", left)
	}
	again := imported(t, s, "y", second)
	if again.Unchanged || again.Replaced != "" || again.RootDigest != other.RootDigest {
		t.Errorf("under another name: %+v", again)
	}
	all, err := s.List()
	if err != nil || len(all) != 2 || all[0] != other.Image || all[1] != again.Image {
		t.Errorf("listed %+v, %v", all, err)
	}
	for given, meant := range map[string]string{"hots": "host", "yy": "", "xyz": ""} {
		if err := s.Known(given); err == nil || strings.Contains(err.Error(), `did you mean "`+meant) != (meant != "") {
			t.Errorf("%q: %v", given, err)
		}
	}
	if inUse, err := s.Remove(t.Context(), "x"); inUse || err != nil || len(roots(t, s)) != 1 || blobs(t, s) != 3 {
		t.Errorf("removed: %v, %v, roots %q, %d blobs", inUse, err, roots(t, s), blobs(t, s))
	}
	if inUse, err := s.Remove(t.Context(), "y"); inUse || err != nil || len(roots(t, s)) != 0 || blobs(t, s) != 0 {
		t.Errorf("removed the last: %v, %v, roots %q, %d blobs", inUse, err, roots(t, s), blobs(t, s))
	}
	for _, gone := range []string{"x", "host", "../x", ""} {
		_, err := s.Get(gone)
		_, rootErr := s.Root(t.Context(), gone)
		_, rmErr := s.Remove(t.Context(), gone)
		for _, err := range []error{err, rootErr, rmErr} {
			if unknown := new(UnknownError); !errors.As(err, &unknown) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %v", gone, err)
			}
		}
	}
}

// TestReference: an image's reference is the one it was pulled from, with the digest.
func TestReference(t *testing.T) {
	s := newStore(t)
	one := imported(t, s, "x", python(t))
	fetch := func(reference string) Imported {
		got, err := s.Add(t.Context(), Options{Name: "x", Reference: reference}, fetched(one.Digest, s))
		must(t, err)
		return got
	}
	at := "@" + one.Digest.String()
	if one.Reference != "x"+at {
		t.Errorf("imported as %s", one.Reference)
	}
	for given, want := range map[string]string{"example.org/python:3": "example.org/python:3" + at, "example.org/python@sha256:1": "example.org/python@sha256:1"} {
		got := fetch(given)
		if again := fetch(given); got.Reference != want || got.Unchanged || !again.Unchanged {
			t.Errorf("%s: %+v, then %+v", given, got, again)
		}
	}
}

// TestRoot is in use until it is closed.
func TestRoot(t *testing.T) {
	s := newStore(t)
	m := python(t)
	one := imported(t, s, "python", m)
	r := root(t, s, "python")
	if r.Digest != one.RootDigest || r.Image != one.Image || r.Config.WorkingDir != "/srv" || !slices.Equal(r.Config.Entrypoint, []string{"python3"}) || len(r.Config.Env) != 2 {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(r.Dir); err != nil || info.Mode().Perm() != 0o755 || !filepath.IsAbs(r.Dir) {
		t.Errorf("%s: %v, %v", r.Dir, info, err)
	}
	must(t, r.Check(t.Context()))
	for range 2 { // a Sweep is no end of the use either
		inUse, err := s.Remove(t.Context(), "python")
		if unknown := new(UnknownError); err != nil && !errors.As(err, &unknown) || err == nil && !inUse {
			t.Errorf("removed: %v, %v", inUse, err)
		}
		swept, err := s.Sweep(t.Context(), false)
		if err != nil || len(swept.InUse) != 1 || len(swept.Removed) != 0 {
			t.Errorf("swept %+v, %v", swept, err)
		}
	}
	if files := list(t, r.Dir); !slices.Equal(files, pythonFiles) {
		t.Errorf("the root in use has %q", files)
	}
	must(t, r.Close())
	for _, dry := range []bool{true, false} {
		swept, err := s.Sweep(t.Context(), dry)
		if err != nil || len(swept.Removed) != 1 || len(swept.InUse) != 0 {
			t.Errorf("dry %v: %+v, %v", dry, swept, err)
		}
		if left := roots(t, s); dry != (len(left) == 1) {
			t.Errorf("dry %v: roots %q", dry, left)
		}
	}
}

// fetched is a fetch of what is there already.
func fetched(manifest digest.Digest, s *Store) func(context.Context, *layout.Layout) (ocispec.Descriptor, error) {
	return func(context.Context, *layout.Layout) (ocispec.Descriptor, error) {
		images, err := s.layout.Images()
		for _, one := range images {
			if one.Digest == manifest {
				return one, err
			}
		}
		return ocispec.Descriptor{}, errors.Join(err, fs.ErrNotExist)
	}
}

// damages are what may become of an unpacked root.
var damages = map[string]func(t *testing.T, r *Root) error{
	"changed": func(_ *testing.T, r *Root) error {
		return os.WriteFile(filepath.Join(r.Dir, "etc", "os-release"), []byte("ID=evil\n"), 0o600)
	},
	"added":   func(_ *testing.T, r *Root) error { return os.WriteFile(filepath.Join(r.Dir, "new"), nil, 0o600) },
	"removed": func(_ *testing.T, r *Root) error { return os.Remove(filepath.Join(r.Dir, "bin")) },
	"mode":    func(_ *testing.T, r *Root) error { return os.Chmod(filepath.Join(r.Dir, "usr/bin/python3"), 0o777) },
	"hidden": func(t *testing.T, r *Root) error { // with the times that were
		path := filepath.Join(r.Dir, "etc", "os-release")
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.WriteFile(path, []byte("ID=evil\n")[:info.Size()], 0o600))
		return os.Chtimes(path, info.ModTime(), info.ModTime())
	},
	"no tree":     func(_ *testing.T, r *Root) error { return os.RemoveAll(r.Dir) },
	"tree a link": func(_ *testing.T, r *Root) error { return errors.Join(os.RemoveAll(r.Dir), os.Symlink("/", r.Dir)) },
	"no seal":     func(_ *testing.T, r *Root) error { return os.Remove(filepath.Join(filepath.Dir(r.Dir), sealFile)) },
	"seal cut": func(_ *testing.T, r *Root) error {
		return os.Truncate(filepath.Join(filepath.Dir(r.Dir), sealFile), 100)
	},
	"record": func(t *testing.T, r *Root) error {
		path := filepath.Join(filepath.Dir(r.Dir), recordFile)
		text, err := os.ReadFile(path)
		must(t, err)
		other := strings.Replace(string(text), r.Digest.Encoded(), digest.FromString("other").Encoded(), 1)
		return os.WriteFile(path, []byte(other), 0o600)
	},
}

// TestDamage is found by Check. A repair, or another import, makes the root what it was.
func TestDamage(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			m := python(t)
			digest := imported(t, s, "python", m).RootDigest
			for _, how := range []string{"repair", "import"} {
				r := root(t, s, "python")
				must(t, damage(t, r))
				must(t, r.Close())
				r = root(t, s, "python")
				if err := r.Check(t.Context()); !errors.Is(err, ErrDamaged) {
					t.Fatalf("checked: %v", err)
				}
				if how == "repair" {
					other := root(t, s, "python")
					if err := r.Repair(t.Context()); !errors.Is(err, ErrInUse) {
						t.Errorf("repaired what another uses: %v", err)
					}
					must(t, other.Close())
					must(t, r.Repair(t.Context()))
				} else {
					must(t, r.Close())
					if again := imported(t, s, "python", m); !again.Repaired || again.Unchanged {
						t.Errorf("imported: %+v", again)
					}
					r = root(t, s, "python")
				}
				must(t, r.Check(t.Context()))
				if files := list(t, r.Dir); !slices.Equal(files, pythonFiles) || r.Digest != digest {
					t.Errorf("%s: %q, %s", how, files, r.Digest)
				}
				if left := roots(t, s); len(left) != 1 {
					t.Errorf("%s left %q", how, left)
				}
				must(t, r.Close())
			}
		})
	}
}

// TestMissingRoot is made from the layers when it is needed, also by many processes at once.
func TestMissingRoot(t *testing.T) {
	s := newStore(t)
	m := python(t)
	one := imported(t, s, "python", m)
	must(t, os.RemoveAll(s.roots))
	must(t, os.Mkdir(s.roots, 0o700))
	if got, err := s.Get("python"); err != nil || got.RootDigest != "" {
		t.Errorf("%+v, %v", got, err)
	}
	all := make(chan *Root, 10)
	for range cap(all) {
		go func() {
			r, err := s.Root(t.Context(), "python")
			if err != nil {
				t.Error(err)
			}
			all <- r
		}()
	}
	for range cap(all) {
		r := <-all
		if r == nil || r.Digest != one.RootDigest {
			t.Errorf("%+v", r)
			continue
		}
		if err := errors.Join(r.Check(t.Context()), r.Close()); err != nil {
			t.Error(err)
		}
	}
	must(t, os.RemoveAll(s.roots))
	must(t, os.Mkdir(s.roots, 0o700))
	if again := imported(t, s, "python", m); !again.Repaired || again.Unchanged {
		t.Errorf("imported: %+v", again)
	}
}

// TestDamagedBlob is noticed when it is unpacked, and another import repairs it.
func TestDamagedBlob(t *testing.T) {
	for i := range 2 {
		s := newStore(t)
		m := python(t)
		imported(t, s, "python", m)
		path := filepath.Join(s.layout.Dir(), "blobs", "sha256", digest.FromBytes(m.layers[i]).Encoded())
		data, err := os.ReadFile(path)
		must(t, err)
		data[len(data)/2] ^= 1
		must(t, os.Chmod(path, 0o600))
		must(t, os.WriteFile(path, data, 0o600))
		r := root(t, s, "python") // the root is whole
		must(t, r.Check(t.Context()))
		if err := r.Repair(t.Context()); !errors.Is(err, cas.ErrCorrupt) {
			t.Errorf("repaired from a damaged layer: %v", err)
		}
		must(t, r.Check(t.Context())) // and still is
		must(t, r.Close())
		must(t, os.RemoveAll(s.roots))
		must(t, os.Mkdir(s.roots, 0o700))
		if _, err := s.Root(t.Context(), "python"); !errors.Is(err, cas.ErrCorrupt) {
			t.Errorf("made from a damaged layer: %v", err)
		}
		if left := roots(t, s); len(left) != 0 {
			t.Errorf("left %q", left)
		}
		if again := imported(t, s, "python", m); !again.Repaired {
			t.Errorf("imported: %+v", again)
		}
		r = root(t, s, "python")
		must(t, r.Check(t.Context()))
		must(t, r.Repair(t.Context()))
	}
}

// TestCopied finds a store that was copied, with other inodes and change times, to be whole.
func TestCopied(t *testing.T) {
	s := newStore(t)
	imported(t, s, "python", python(t))
	dir := filepath.Join(t.TempDir(), "images")
	if out, err := exec.Command("cp", "-a", s.layout.Dir(), dir).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	copied, err := Open(dir)
	must(t, err)
	must(t, root(t, copied, "python").Check(t.Context()))
	evil := root(t, copied, "python")
	must(t, os.WriteFile(filepath.Join(evil.Dir, "etc", "os-release"), []byte("ID=evil\n"), 0o600))
	if err := evil.Check(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("changed after the copy: %v", err)
	}
}

// TestPackages is the digest of the list in the root, else what the image says.
func TestPackages(t *testing.T) {
	s := newStore(t)
	said := digest.FromString("said")
	labelled := python(t)
	labelled.config.Config.Labels = map[string]string{packagesKey: said.String()}
	annotated := python(t)
	annotated.manifest.Annotations = map[string]string{packagesKey: said.String()}
	wrong := python(t)
	wrong.config.Config.Labels = map[string]string{packagesKey: "sha256:short"}
	filed := imageOf(t, tree{packagesFile: "{}"})
	filed.config.Config.Labels = labelled.config.Config.Labels
	away := imageOf(t, tree{"usr/share/scidex/": "", packagesFile: "->/etc/passwd"}) // leads to nothing in the image
	inside := imageOf(t, tree{"list": "{}", packagesFile: "->/list"})
	for name, c := range map[string]struct {
		m    *made
		want digest.Digest
	}{
		"none": {python(t), ""}, "label": {labelled, said}, "annotation": {annotated, said}, "no digest": {wrong, ""},
		"file": {filed, digest.FromString("{}")}, "link out": {away, ""}, "link inside": {inside, digest.FromString("{}")},
	} {
		if got := imported(t, s, "x", c.m); got.PackagesDigest != c.want {
			t.Errorf("%s: %s, want %s", name, got.PackagesDigest, c.want)
		}
	}
}

// TestSweepSpares what is being pulled, and everything if it is not known what is needed.
func TestSweepSpares(t *testing.T) {
	s := newStore(t)
	one := imported(t, s, "python", python(t))
	release, err := s.layout.Hold(t.Context())
	must(t, err)
	lone := imageOf(t, tree{"lone": "x"})
	must(t, s.layout.Put(t.Context(), blob("", lone.layers[0]), strings.NewReader(string(lone.layers[0]))))
	if swept, err := s.Sweep(t.Context(), false); err != nil || len(swept.Removed) != 0 {
		t.Errorf("while another pulls: %+v, %v", swept, err)
	}
	must(t, release())
	manifest := filepath.Join(s.layout.Dir(), "blobs", "sha256", one.Digest.Encoded())
	must(t, os.Chmod(manifest, 0o600))
	must(t, os.WriteFile(manifest, []byte("{"), 0o600))
	if swept, err := s.Sweep(t.Context(), false); err == nil || len(swept.Removed) != 0 {
		t.Errorf("a damaged manifest: %+v, %v", swept, err)
	}
	if all, err := s.List(); err == nil || len(all) != 0 {
		t.Errorf("listed %+v, %v", all, err)
	}
	other := imported(t, s, "other", imageOf(t, tree{"other": "x"}))
	if all, err := s.List(); err == nil || len(all) != 1 || all[0] != other.Image {
		t.Errorf("listed %+v, %v", all, err)
	}
	must(t, s.Known("python"))
	if _, err := s.Remove(t.Context(), "python"); err != nil {
		t.Error(err)
	}
	if left := roots(t, s); len(left) != 1 || blobs(t, s) != 3 {
		t.Errorf("roots %q, %d blobs", left, blobs(t, s))
	}
}

// TestOpenRefuses a directory that others own or may write to.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("others may write: %v", err)
	}
	if _, err := Open(file(t, nil)); err == nil {
		t.Error("a file was taken for a store")
	}
}

// TestChangedAfterImport finds a change right after the import, whatever the clock of the file system.
func TestChangedAfterImport(t *testing.T) {
	s := newStore(t)
	for i := range 5 {
		m := imageOf(t, tree{"file": string(rune('a' + i))})
		imported(t, s, "x", m)
		r := root(t, s, "x")
		info, err := os.Stat(filepath.Join(r.Dir, "file"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(r.Dir, "file"), []byte("z"), 0o600))
		must(t, os.Chtimes(filepath.Join(r.Dir, "file"), time.Time{}, info.ModTime()))
		if err := r.Check(t.Context()); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
	}
}
