package binds

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
)

func mountTmpfs(t *testing.T, at string) {
	t.Helper()
	inodetest.Try(t, unix.Mount("tmpfs", at, "tmpfs", 0, ""))
}

// TestMountsBelowAreRefused by the table of mounts.
func TestMountsBelowAreRefused(t *testing.T) {
	inodetest.WithMounts(t, func() {
		for _, name := range []string{"plain", "with space", "tab\tand\nnewline", `back\slash`, `\040`, "#"} {
			dir := inodetest.Tree(t, "data/"+name+"/1", "other/1")
			at := filepath.Join(dir, "data", name)
			inodetest.BindMount(t, dir+"/other", at)
			expectMounted(t, dir+"/data", at)
			// What is next to a mount, and what is mounted, is bound like any other.
			expectMounted(t, dir+"/other", "")
			expectMounted(t, at, "")
		}
	})
}

// expectMounted checks what RefuseMounts says; mounted is empty if it must say nothing.
func expectMounted(t *testing.T, dir, mounted string) {
	t.Helper()
	b, err := newBoundary(nil, nil, quiet())
	inodetest.Try(t, err)
	f, err := inode.Open(dir)
	inodetest.Try(t, err)
	defer f.Close()
	tr, err := identify(f, b.mounts)
	inodetest.Try(t, err)
	got := b.RefuseMounts(tr)
	if mounted == "" && got != nil || mounted != "" && (got == nil || got.Error() != MountedBelow(mounted).Error()) {
		t.Errorf("%s: %v, want %q", dir, got, mounted)
	}
}

func TestFileMountedBelow(t *testing.T) {
	inodetest.WithMounts(t, func() {
		dir := inodetest.Tree(t, "data/a/file", "other")
		inodetest.BindMount(t, dir+"/other", dir+"/data/a/file")
		expectMounted(t, dir+"/data", dir+"/data/a/file")
		expectMounted(t, dir+"/data/a/file", "")
	})
}

// TestStackedMounts: a mount that another one hides is not below the directory; the one on top is.
func TestStackedMounts(t *testing.T) {
	inodetest.WithMounts(t, func() {
		dir := inodetest.Tree(t, "data/sub/1", "top/sub/2")
		mountTmpfs(t, dir+"/data/sub")
		mountTmpfs(t, dir+"/data/sub") // twice
		expectMounted(t, dir+"/data", dir+"/data/sub")
		f, err := inode.Open(dir + "/data")
		inodetest.Try(t, err)
		defer f.Close()
		inodetest.BindMount(t, dir+"/top", dir+"/data")
		expectMounted(t, dir+"/data", "")
		// The descriptor from before has it still.
		b, err := newBoundary(nil, nil, quiet())
		inodetest.Try(t, err)
		tr, err := identify(f, b.mounts)
		inodetest.Try(t, err)
		if err := b.RefuseMounts(tr); err == nil {
			t.Error("the mount below what was opened is not seen")
		}
		mountTmpfs(t, dir+"/data/sub")
		expectMounted(t, dir+"/data", dir+"/data/sub")
	})
}

func TestMountsInChroot(t *testing.T) {
	inodetest.WithMounts(t, func() {
		dir := inodetest.Tree(t, "new/proc/", "new/data/sub/1", "new/data2/1", "other/1")
		inodetest.BindMount(t, dir+"/other", dir+"/new/data/sub")
		inodetest.BindMount(t, "/proc", dir+"/new/proc")
		inodetest.Try(t, unix.Chroot(dir+"/new")) // only of this thread: unshare(CLONE_NEWNS) implies CLONE_FS
		expectMounted(t, "/data", "/data/sub")
		expectMounted(t, "/data2", "")
		expectMounted(t, "/data/sub", "")
	})
}

// TestSitesMountedElsewhere: neither a bind mount of a site, nor one of what is above or below it, gets
// round.
func TestSitesMountedElsewhere(t *testing.T) {
	inodetest.WithMounts(t, func() {
		dir := inodetest.Tree(t, "run/sockets/in/1", "root/blobs/1", "a/", "b/", "c/", "d/", "volume/pg/1", "pg/", "free/1", "e/")
		at := func(name string) string { return filepath.Join(dir, name) }
		inodetest.BindMount(t, at("run/sockets"), at("a"))
		inodetest.BindMount(t, at("run"), at("b"))
		inodetest.BindMount(t, at("root/blobs"), at("c"))
		inodetest.BindMount(t, at("run/sockets/in"), at("d"))
		inodetest.BindMount(t, at("volume/pg"), at("pg"))
		inodetest.BindMount(t, at("free"), at("e"))
		sites := []site{
			{path: at("run/sockets"), what: "SOCKETS"},
			{path: at("root"), what: "ROOT", whole: true},
			{path: at("pg"), what: "PG", whole: true},
		}
		for path, want := range map[string][]string{
			"a": {"is SOCKETS"}, "b": {"holds", "SOCKETS"}, "c": {"lies in", "ROOT"}, "d": nil, "e": nil, "free": nil,
			"volume/pg": {"is PG"}, "volume": {"holds", "PG"},
		} {
			inodetest.ExpectRefusal(t, keepOut(t, at(path), sites), want...)
		}
	})
}
