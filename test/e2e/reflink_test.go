package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// reflinkSize is the least that mkfs.xfs(8) accepts, at first one hole.
const reflinkSize = 512 << 20

// onReflinks puts the root of a harness into an image of XFS, where files can share their data. It is mounted only for
// each command, in a mount namespace that ends with it.
func onReflinks(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.write("disk", "", 0o600)
	if err := os.Truncate(h.path("disk"), reflinkSize); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(h.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if out := h.finish(h.command("mkfs.xfs", "-q", "-m", "reflink=1", "disk")); out.code != 0 {
		t.Fatalf("mkfs.xfs: %s", out.stderr)
	}
	h.setenv("SCIDEX_OCI_MIN_FREE", "0")
	t.Cleanup(func() {
		if left := eventually(func() []string {
			out, _ := exec.Command("losetup", "--noheadings", "--associated", h.path("disk")).Output() // none: nothing is left
			return strings.Fields(string(out))
		}); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
	return h
}

// mounted runs scidex-oci with the image as the root of the harness.
func (h *harness) mounted(args ...string) *exec.Cmd {
	return h.command("unshare", append(flags("--mount", "sh", "-c", `mount -o loop disk "$0" && exec "$@"`, h.root, theHost.bin), args...)...)
}

// TestPostProcessSharesData: if the file system can share data, a hook's copies take no space (FICLONE), and are still
// copies.
func TestPostProcessSharesData(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount a file system that shares data; the tests as root do")
		return
	}
	if !exists("/dev/loop-control") {
		t.Skip("this machine has no loop devices (/dev/loop-control), so no file system can be made that shares data")
	}
	h := onReflinks(t)
	h.hook(`cd "$SCIDEX_OUTPUT_DIR"
filefrag -v data >"$OLDPWD/before"
chmod u+w . data
printf changed | dd of=data conv=notrunc status=none
sync data
filefrag -v data >"$OLDPWD/after"
truncate -s 1 data
`)
	r := h.resultOf(h.mounted("run", "--json", "--id", h.id("shared"), "--post-process", "./hook.sh", "--",
		"sh", "-c", "head -c 4194304 /dev/urandom >data; sha256sum data"))
	r.expect(t, "complete", "exit", 0)
	r.expectHook(t, 0, "", false)
	if extents, shared := sharedExtents(readFile(t, h.path("before"))); extents == 0 || shared != extents {
		t.Errorf("%d of %d extents of the copy are shared:\n%s", shared, extents, readFile(t, h.path("before")))
	}
	if extents, shared := sharedExtents(readFile(t, h.path("after"))); shared == extents || shared == 0 {
		t.Errorf("after a write %d of %d extents of the copy are shared:\n%s", shared, extents, readFile(t, h.path("after")))
	}
	said := h.finish(h.mounted("logs", r.ID)).stdout
	if content := h.finish(h.mounted("outputs", "cat", r.ID, "data")).stdout; !strings.HasPrefix(said, digest([]byte(content))) || len(content) != 4<<20 {
		t.Errorf("the blob has %d bytes of digest %s, the analysis wrote %s", len(content), digest([]byte(content)), said)
	}
	if out := h.finish(h.mounted("catalog", "check", "--digests")); out.code != 0 {
		t.Errorf("catalog check: %s", out.stderr)
	}
}

// sharedExtents counts what filefrag(8) lists: a line for each extent, which begins with its number.
func sharedExtents(listing string) (extents, shared int) {
	for line := range strings.Lines(listing) {
		number, flags, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || strings.Trim(number, "0123456789") != "" {
			continue
		}
		extents++
		if strings.Contains(flags, "shared") {
			shared++
		}
	}
	return extents, shared
}
