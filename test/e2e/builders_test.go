package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// builders are Debian's buildah and podman with a storage of their own, as root.
type builders struct {
	*harness
	env    []string
	parent string // of the control groups of podman's containers
}

func newBuilders(h *harness) *builders {
	h.t.Helper()
	b := &builders{harness: h, parent: "/" + h.run}
	// podman requests more files and processes than it may have if root lacks CAP_SYS_RESOURCE.
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		h.t.Fatal(err)
	}
	config := h.write("containers.conf", fmt.Sprintf("[containers]\ndefault_ulimits = [\"nofile=%d:%[1]d\", \"nproc=1024:1024\"]\n"+
		"[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\nlock_type = \"file\"\n", files.Max), 0o644)
	storage := h.write("storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", h.path("graph"), h.path("storage")), 0o644)
	b.env = append(os.Environ(), "CONTAINERS_CONF="+config, "CONTAINERS_STORAGE_CONF="+storage, "TMPDIR="+h.dir, "BUILDAH_ISOLATION=chroot")
	h.t.Cleanup(b.leave)
	return b
}

// leave removes the groups that podman leaves: that of its monitors, and the one around them.
func (b *builders) leave() {
	for _, dir := range append(matches("/sys/fs/cgroup/*"+b.parent), matches("/sys/fs/cgroup"+b.parent)...) {
		_ = os.Remove(filepath.Join(dir, "conmon")) // some have none
		if err := os.Remove(dir); err != nil {
			b.t.Errorf("left behind: %v", err)
		}
	}
}

// must runs one of the tools, and returns what it says on standard output.
func (b *builders) must(program string, args ...string) string {
	b.t.Helper()
	if program == "podman" {
		args = append([]string{"--tmpdir", b.path("tmp")}, args...)
	}
	cmd := b.command(program, args...)
	cmd.Env = b.env
	out := b.finish(cmd)
	if out.code != 0 {
		b.t.Fatalf("%s %q: exit code %d\n%s%s", program, args, out.code, out.stdout, out.stderr)
	}
	return strings.TrimSpace(out.stdout)
}

// run starts a command in a container of podman's.
func (b *builders) run(image string, command ...string) string {
	b.t.Helper()
	args := []string{"run", "--rm", "--network=none", "--cgroup-parent", b.parent, image}
	return b.must("podman", append(args, command...)...) + "\n"
}

// listing prints everything of an image: names, kinds, modes, links, contents. What a run has of its own lies
// elsewhere.
const listing = `cd / && find bin lib opt srv usr | sort | while read -r f; do
	stat -c '%n %F %a' "$f"
	if [ -L "$f" ]; then readlink "$f"; elif [ -f "$f" ]; then md5sum <"$f"; fi
done; echo "$GREETING $PATH"`

// containerfile makes three layers: the second replaces, removes and hides what the first has.
const containerfile = `FROM scratch
COPY tree /
ENV PATH=/bin GREETING=hello
COPY more /
RUN rm -r /srv/gone /opt/old && mkdir /opt/old && echo new >/opt/old/file && chmod 755 /opt/tool && ln /opt/tool /opt/same
`

// build builds one image by the Containerfile. A RUN of either is in a chroot.
func (b *builders) build(program, image, format string) {
	b.t.Helper()
	args := []string{"build", "--layers", "--isolation=chroot", "--format", format, "--file", b.path("Containerfile"), "--tag", image, b.dir}
	b.must(program, args...)
}

// TestBuilders pulls, imports and runs images of buildah and podman: inside is the same as in podman and runc.
func TestBuilders(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: a storage of podman's takes root or a range of ids; the tests as root do")
		return
	}
	for _, tool := range []string{"buildah", "podman", "runc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v; scripts/setup test installs it", err)
		}
	}
	s := newRegistrySite(t)
	b := newBuilders(s.harness)
	b.tree("tree", alpine(map[string]string{"opt/tool": "one", "srv/gone/deep/file": "x", "opt/old/a": "a", "srv/kept": "kept"}))
	b.tree("more", map[string]string{"opt/tool": "two", "srv/ünïcode name": "y"})
	b.write("Containerfile", containerfile, 0o644)
	for _, c := range []struct{ program, format string }{{"buildah", "oci"}, {"buildah", "docker"}, {"podman", "oci"}, {"podman", "docker"}} {
		t.Run(c.program+" "+c.format, func(t *testing.T) {
			same := *b
			same.harness = b.in(t)
			same.everyRoad(s, c.program, c.format)
		})
	}
	t.Run("python", func(t *testing.T) {
		same := *b
		same.harness = b.in(t)
		same.python()
	})
}

// python runs the image of rootfs/python in all three.
func (b *builders) python() {
	b.t.Helper()
	b.recipeImage("python")
	id := b.must("podman", "pull", "--quiet", "oci-archive:"+filepath.Join(os.Getenv("SCIDEX_OCI_TEST_IMAGES"), "python.oci.tar"))
	command := []string{"python3", "-c", `
import hashlib, os, sys
h = hashlib.sha256()
for top, dirs, files in os.walk("/usr"):
    dirs.sort()
    for name in sorted(files):
        path = os.path.join(top, name)
        link = os.path.islink(path)
        h.update(f"{path} {os.lstat(path).st_mode:o}".encode())
        h.update(os.readlink(path).encode() if link else open(path, "rb").read())
print(sys.version, h.hexdigest())`}
	b.same("python", b.run(id, command...), command...)
}

func (b *builders) everyRoad(s *registrySite, program, format string) {
	b.t.Helper()
	name := program + "-" + format
	image := "localhost/" + name + ":1"
	b.build(program, image, format)
	want := b.run(image, "sh", "-c", listing)
	for _, word := range []string{"opt/tool regular file 755\n", "opt/old/file regular", "srv/ünïcode name", "\nhello /bin\n"} {
		if !strings.Contains(want, word) {
			b.t.Fatalf("no %q in podman's container:\n%s", word, want)
		}
	}
	if strings.Contains(want, "gone") || strings.Contains(want, "opt/old/a") {
		b.t.Fatalf("podman's container has what was removed:\n%s", want)
	}
	b.must(program, "push", "--quiet", "--cert-dir", s.server.Authority.Dir, "--creds", registrytest.User+":"+registrytest.Password,
		image, "docker://"+s.server.Address+"/"+name+":1")
	b.mustRun("image", "pull", s.Address+"/"+name+":1", "--name", name+"-pulled")
	b.must("podman", "save", "--quiet", "--format", format+"-archive", "--output", b.path(name+".tar"), image)
	b.mustRun("image", "import", b.path(name+".tar"), "--name", name+"-archive")
	b.must(program, "push", "--quiet", "--format", map[string]string{"oci": "oci", "docker": "v2s2"}[format], image, "oci:"+b.path(name+".layout")+":1")
	b.mustRun("image", "import", b.path(name+".layout"), "--name", name+"-layout")
	for _, taken := range []string{name + "-pulled", name + "-archive", name + "-layout"} {
		b.same(taken, want, "sh", "-c", listing)
	}
}

// same checks that a run, and runc with the bundle of that run, print the same as podman.
func (b *builders) same(image, want string, command ...string) {
	b.t.Helper()
	request := append([]string{"--rootfs", image, "--"}, command...)
	r := b.start(append([]string{"--id", b.newID()}, request...)...)
	r.expect(b.t, "complete", "exit", 0)
	if got := b.stdoutOf(r); got != want {
		b.t.Errorf("%s: a run has\n%s\npodman\n%s", image, got, want)
	}
	b.reachable()
	id := b.newID()
	b.mustRun(append([]string{"spec", "--bundle", "bundle-" + id, "--id", id}, request...)...)
	out := b.finish(b.command("runc", "--root", b.path("state"), "run", "--bundle", b.path("bundle-"+id), id))
	if out.code != 0 || out.stdout != want {
		b.t.Errorf("%s: runc: %d, has\n%s\npodman\n%s\n%s", image, out.code, out.stdout, want, out.stderr)
	}
}
