package outputs

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sameFile reports whether two paths are names of one inode.
func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.Stat(a)
	must(t, err)
	other, err := os.Stat(b)
	must(t, err)
	return os.SameFile(one, other)
}

// A file of one name is taken without a copy and stays in the tree; a file that would bring attributes with it is copied.
func TestHarvestLinks(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/one", "one")
	write0(t, dir+"/sub/setid", "setid")
	must(t, unix.Chmod(dir+"/sub/setid", 0o6755))
	write0(t, dir+"/pair", "pair")
	must(t, os.Link(dir+"/pair", dir+"/pair2"))
	write0(t, dir+"/attributes", "attributes")
	must(t, unix.Setxattr(dir+"/attributes", "user.x", []byte("1"), 0))
	write0(t, dir+"/open", "open")
	writer, err := os.OpenFile(dir+"/open", os.O_WRONLY, 0)
	must(t, err)
	defer writer.Close()
	write0(t, dir+"/mapped", "mapped")
	mapped, err := os.OpenFile(dir+"/mapped", os.O_RDWR, 0)
	must(t, err)
	memory, err := unix.Mmap(int(mapped.Fd()), 0, 6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, errors.Join(err, mapped.Close()))
	defer func() { must(t, unix.Munmap(memory)) }()
	h := reap(t, dir, Options{Link: true})
	h.only("one", "sub/setid", "pair", "pair2", "attributes", "open", "mapped")
	for path, linked := range map[string]bool{"one": true, "sub/setid": true, "pair": false, "pair2": false, "attributes": false, "open": false, "mapped": false} {
		into := filepath.Join(h.ingest, h.is(path, "").Ingest)
		if got := sameFile(t, filepath.Join(dir, path), into); got != linked {
			t.Errorf("%s is one file with its ingest file: %v, want %v", path, got, linked)
		}
		if info, err := os.Stat(into); linked && (err != nil || info.Mode() != 0o400) {
			t.Errorf("%s is ingested with mode %v, %v", path, info.Mode(), err)
		}
	}
	if e := h.is("sub/setid", ""); e.Mode != 0o755 {
		t.Errorf("mode %o", e.Mode)
	}
}

// On another file system everything is copied.
func TestHarvestLinksNothingAcross(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a", "a")
	write0(t, dir+"/b", "b")
	shm, err := os.MkdirTemp("/dev/shm", "harvest-")
	must(t, err)
	defer os.RemoveAll(shm)
	var got []Entry
	_, err = Harvest(context.Background(), openDir(t, dir), Options{Link: true, Ingest: openDir(t, shm)}, func(e Entry) error {
		got = append(got, e)
		return nil
	})
	must(t, err)
	if len(got) != 2 || got[0].Rejected != "" || got[1].Rejected != "" {
		t.Errorf("%+v", got)
	}
}

// A directory that is kept after all shares no file with the ingest directory, whatever its owner does to it.
func TestOwnPartsFromTheIngest(t *testing.T) {
	dir := newTree(t)
	for _, path := range []string{"/a", "/sub/b", "/sub/deep/c"} {
		write0(t, dir+path, path)
	}
	must(t, os.Link(dir+"/a", dir+"/a2"))
	must(t, unix.Chmod(dir+"/sub/b", 0o750))
	h := reap(t, dir, Options{Link: true})
	b := filepath.Join(h.ingest, h.is("sub/b", "").Ingest)
	must(t, Own(context.Background(), openDir(t, dir), os.Getuid(), os.Getgid(), nil))
	if sameFile(t, dir+"/sub/b", b) {
		t.Error("the kept file is that of the ingest directory")
	}
	if !sameFile(t, dir+"/a", dir+"/a2") {
		t.Error("names of one inode inside were parted")
	}
	must(t, os.WriteFile(dir+"/sub/b", []byte("changed"), 0))
	if got, err := os.ReadFile(b); err != nil || string(got) != "/sub/b" {
		t.Errorf("the ingest file holds %q, %v", got, err)
	}
	entries, err := os.ReadDir(dir + "/sub")
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".own-") {
			t.Errorf("left: %s", e.Name())
		}
	}
}

// Files with a name outside are distinguished from those whose names are all inside, whatever their number.
func TestOwnPartsByNames(t *testing.T) {
	dir, outside := newTree(t), t.TempDir()
	for name, at := range map[string][]string{
		"two inside": {"/d/1"}, "three inside": {"/1", "/d/2"}, "one outside": {"O/a"}, "two outside": {"O/b", "O/c"}, "one of three outside": {"/d/3", "O/d"},
	} {
		write0(t, dir+"/d/"+name, name)
		for _, to := range at {
			if to, out := strings.CutPrefix(to, "O"); out {
				must(t, os.Link(dir+"/d/"+name, outside+to))
			} else {
				must(t, os.Link(dir+"/d/"+name, dir+to))
			}
		}
	}
	must(t, Own(context.Background(), openDir(t, dir), os.Getuid(), os.Getgid(), nil))
	for name, want := range map[string]uint64{"two inside": 2, "three inside": 3, "one outside": 1, "two outside": 1, "one of three outside": 1} {
		var st unix.Stat_t
		must(t, unix.Stat(dir+"/d/"+name, &st))
		if content, err := os.ReadFile(dir + "/d/" + name); st.Nlink != want || string(content) != name || err != nil {
			t.Errorf("%s has %d names and holds %q (%v), want %d", name, st.Nlink, content, err, want)
		}
	}
}

// TestOwnIsFrugal keeps a tree in which every file has a name outside: what is remembered of a million must be small.
func TestOwnIsFrugal(t *testing.T) {
	const n = 4096
	dir, outside := newTree(t), t.TempDir()
	manyFiles(t, dir, n)
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		must(t, os.Link(dir+"/"+e.Name(), outside+"/"+e.Name()))
	}
	w, err := newWalk(openDir(t, dir))
	must(t, err)
	defer w.close()
	o := newOwning(w, Owner{os.Getuid(), os.Getgid()}, keptMode)
	must(t, o.run(context.Background(), o.entry))
	if !o.shared() || len(o.once) > n/8 || len(o.names) > 0 {
		t.Errorf("%d and %d entries for %d files", len(o.once), len(o.names), n)
	}
}

// TestResumed ends a harvest after every number of entries by an error of yield: the next one finds the tree with the
// modes that it had, also of files that have become blobs.
func TestResumed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes the files of others its own, as a supervisor does")
	}
	for stop := range 6 {
		dir, ingest := t.TempDir(), t.TempDir()
		for i, mode := range []os.FileMode{0o644, 0o600, 0o444, 0o755, 0o000, 0o051} {
			path := filepath.Join(dir, strconv.Itoa(i))
			must(t, os.WriteFile(path, []byte(strconv.Itoa(i)), 0o644))
			must(t, os.Chmod(path, mode))
		}
		broken := errors.New("broken")
		into := openDir(t, ingest)
		_, err := Harvest(t.Context(), openDir(t, dir), Options{Ingest: into, Link: true}, func(e Entry) error {
			if stop == 0 {
				return broken
			}
			stop--
			must(t, os.Chmod(filepath.Join(ingest, e.Ingest), 0o444))
			return os.Rename(filepath.Join(ingest, e.Ingest), filepath.Join(ingest, "blob-"+e.SHA256))
		})
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		got := map[string]uint32{}
		_, err = Harvest(t.Context(), openDir(t, dir), Options{Ingest: into, Link: true, Resumed: true}, func(e Entry) error {
			got[string(e.Path)+" "+string(e.Rejected)] = e.Mode
			return nil
		})
		must(t, err)
		want := map[string]uint32{"0 ": 0o644, "1 ": 0o600, "2 ": 0o444, "3 ": 0o755, "4 ": 0, "5 ": 0o051}
		if !maps.Equal(got, want) {
			t.Errorf("resumed: %v, want %v", got, want)
		}
		must(t, Own(t.Context(), openDir(t, dir), os.Getuid(), os.Getgid(), into))
		info, err := os.Stat(filepath.Join(dir, "3"))
		must(t, err)
		if info.Mode() != 0o755 {
			t.Errorf("kept with %v, want 0755", info.Mode())
		}
	}
}
