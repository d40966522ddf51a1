package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// withMounts does something on a thread with a mount namespace of its own.
func withMounts(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}

func bindMount(t *testing.T, from, to string) {
	t.Helper()
	try(t, unix.Mount(from, to, "", unix.MS_BIND, ""))
}

func mountTmpfs(t *testing.T, at string) {
	t.Helper()
	try(t, unix.Mount("tmpfs", at, "tmpfs", 0, ""))
}

// TestMountsBelowAreRefused by the table of mounts, and by the scan alone.
func TestMountsBelowAreRefused(t *testing.T) {
	withMounts(t, func() {
		for _, name := range []string{"plain", "with space", "tab\tand\nnewline", `back\slash`, `\040`, "#"} {
			dir := tree(t, "data/"+name+"/1", "other/1")
			at := filepath.Join(dir, "data", name)
			bindMount(t, dir+"/other", at)
			expectMounted(t, dir+"/data", at)
			found, err := scanTree(t, dir+"/data")
			if found != nil || err == nil || !strings.Contains(err.Error(), "is mounted below it") {
				t.Errorf("the scan of %q: %+v, %v", name, found, err)
			}
			// What is beside, and what is mounted, is bound like any other.
			expectMounted(t, dir+"/other", "")
			expectMounted(t, at, "")
		}
	})
}

// expectMounted checks what refuseMounts says; mounted is empty where it must say nothing.
func expectMounted(t *testing.T, dir, mounted string) {
	t.Helper()
	b, err := newBoundary(nil, nil, quiet())
	try(t, err)
	f, err := openPath(dir)
	try(t, err)
	defer f.Close()
	tr, err := trailOf(f, b.mounts)
	try(t, err)
	got := b.refuseMounts(tr)
	if mounted == "" && got != nil || mounted != "" && (got == nil || got.Error() != mountedBelow(mounted).Error()) {
		t.Errorf("%s: %v, want %q", dir, got, mounted)
	}
}

func TestFileMountedBelow(t *testing.T) {
	withMounts(t, func() {
		dir := tree(t, "data/a/file", "other")
		bindMount(t, dir+"/other", dir+"/data/a/file")
		expectMounted(t, dir+"/data", dir+"/data/a/file")
		expectMounted(t, dir+"/data/a/file", "")
	})
}

// TestStackedMounts: a mount that another one hides is not below the directory; the one on top is.
func TestStackedMounts(t *testing.T) {
	withMounts(t, func() {
		dir := tree(t, "data/sub/1", "top/sub/2")
		mountTmpfs(t, dir+"/data/sub")
		mountTmpfs(t, dir+"/data/sub") // twice
		expectMounted(t, dir+"/data", dir+"/data/sub")
		f, err := openPath(dir + "/data")
		try(t, err)
		defer f.Close()
		bindMount(t, dir+"/top", dir+"/data")
		expectMounted(t, dir+"/data", "")
		// The descriptor from before has it still.
		b, err := newBoundary(nil, nil, quiet())
		try(t, err)
		tr, err := trailOf(f, b.mounts)
		try(t, err)
		if err := b.refuseMounts(tr); err == nil {
			t.Error("the mount below what was opened is not seen")
		}
		mountTmpfs(t, dir+"/data/sub")
		expectMounted(t, dir+"/data", dir+"/data/sub")
	})
}

func TestMountsInChroot(t *testing.T) {
	withMounts(t, func() {
		dir := tree(t, "new/proc/", "new/data/sub/1", "new/data2/1", "other/1")
		bindMount(t, dir+"/other", dir+"/new/data/sub")
		bindMount(t, "/proc", dir+"/new/proc")
		try(t, unix.Chroot(dir+"/new")) // of this thread alone: unshare(CLONE_NEWNS) implies CLONE_FS
		expectMounted(t, "/data", "/data/sub")
		expectMounted(t, "/data2", "")
		expectMounted(t, "/data/sub", "")
	})
}

// TestSitesMountedElsewhere: neither a bind mount of a site, nor one of what is above or below it, gets
// round.
func TestSitesMountedElsewhere(t *testing.T) {
	withMounts(t, func() {
		dir := tree(t, "run/sockets/in/1", "root/blobs/1", "a/", "b/", "c/", "d/", "volume/pg/1", "pg/", "free/1", "e/")
		at := func(name string) string { return filepath.Join(dir, name) }
		bindMount(t, at("run/sockets"), at("a"))
		bindMount(t, at("run"), at("b"))
		bindMount(t, at("root/blobs"), at("c"))
		bindMount(t, at("run/sockets/in"), at("d"))
		bindMount(t, at("volume/pg"), at("pg"))
		bindMount(t, at("free"), at("e"))
		sites := []site{
			{path: at("run/sockets"), what: "SOCKETS"},
			{path: at("root"), what: "ROOT", whole: true},
			{path: at("pg"), what: "PG", whole: true},
		}
		for path, want := range map[string][]string{
			"a": {"is SOCKETS"}, "b": {"holds", "SOCKETS"}, "c": {"lies in", "ROOT"}, "d": nil, "e": nil, "free": nil,
			"volume/pg": {"is PG"}, "volume": {"holds", "PG"},
		} {
			expectRefusal(t, keepOut(t, at(path), sites), want...)
		}
	})
}

// TestScanRemembersNoMount: a mount over a directory that is remembered is not passed over, even where
// the mounted directory is remembered too.
func TestScanRemembersNoMount(t *testing.T) {
	l := largeTree(t)
	l.scan()
	withMounts(t, func() {
		bindMount(t, l.dir+"/d01/below", l.dir+"/d02/below")
		_, err := l.scanner.scan(t.Context(), open(t, l.dir), nil)
		expectRefusal(t, err, `"d02/below" is mounted below it`)
	})
}

// TestScriptUnderAMount: what has the script's name in the project that was opened is not the script.
func TestScriptUnderAMount(t *testing.T) {
	withMounts(t, func() {
		dir := tree(t, "project/s.py", "other/s.py")
		project := open(t, dir+"/project")
		bindMount(t, dir+"/other", dir+"/project")
		if rel, err := relative(project, open(t, dir+"/project/s.py")); err == nil {
			t.Errorf("it is taken for %q", rel)
		}
	})
}
