package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
)

// TestRootfsDirectories runs in unpacked root filesystems of many layouts. In all of them a run has its own
// directories.
func TestRootfsDirectories(t *testing.T) {
	h := newHarness(t)
	h.write("given/x", "given", 0o644)
	for name, c := range map[string]struct {
		entries map[string]string
		shell   []string
		etc     string // what is read of /etc/os-release
	}{
		"alpine": {alpine(nil), []string{"sh"}, "NAME=image\n"},
		"merged": {
			withApplets("usr/bin", map[string]string{"usr/bin/busybox": "busybox", "bin": "->usr/bin", "usr/lib/os-release": "NAME=image\n", "etc/os-release": "->../usr/lib/os-release"}),
			[]string{"/usr/bin/sh"},
			"NAME=image\n",
		},
		"usr is a link": {
			withApplets("system/bin", map[string]string{"system/bin/busybox": "busybox", "usr": "->system", "bin": "->/usr/bin", "etc/os-release": "x"}),
			[]string{"/usr/bin/sh"},
			"x",
		},
		"no usr, no etc":      {withApplets("bin", map[string]string{"bin/busybox": "busybox"}), []string{"sh"}, ""},
		"one file":            {map[string]string{"busybox": "busybox"}, []string{"/busybox", "sh"}, ""},
		"etc is a link":       {alpine(map[string]string{"etc": "->/real/etc", "real/etc/passwd": "IMAGE:x:0:0::/:/bin/sh\n"}), []string{"sh"}, ""},
		"etc leads out":       {alpine(map[string]string{"etc": "->../../../../../../etc"}), []string{"sh"}, ""},
		"etc is a file":       {alpine(map[string]string{"etc": "IMAGE"}), []string{"sh"}, ""},
		"accounts are links":  {alpine(map[string]string{"etc/passwd": "->/etc/theirs", "etc/theirs": "IMAGE:x:0:0::/:/bin/sh\n", "etc/group": "->../../../../../../etc/group", "etc/hosts": "->/etc/os-release"}), []string{"sh"}, "NAME=image\n"},
		"accounts are dirs":   {alpine(map[string]string{"etc/passwd": "", "etc/group/": "", "etc/hosts/IMAGE": "", "etc/localtime/IMAGE": ""}), []string{"sh"}, "NAME=image\n"},
		"ours are theirs too": {alpine(map[string]string{"work/IMAGE": "", "data/IMAGE": "", "proc/IMAGE": "", "home/analysis/IMAGE": "", "var/tmp/IMAGE": "", "dev/IMAGE": "", "run/IMAGE": "", "sys/IMAGE": "", "inputs/IMAGE": "", "tmp/IMAGE": "", "analysis/IMAGE": "", "docs/IMAGE": ""}), []string{"sh"}, "NAME=image\n"},
		"ours are files":      {alpine(map[string]string{"work": "IMAGE", "data": "IMAGE", "proc": "IMAGE", "home": "IMAGE", "var": "IMAGE", "dev": "IMAGE", "run": "IMAGE", "sys": "IMAGE", "tmp": "IMAGE", "inputs": "IMAGE"}), []string{"sh"}, "NAME=image\n"},
		"ours are links":      {alpine(map[string]string{"work": "->/", "data": "->bin", "proc": "->/bin", "home": "->bin", "var": "->/bin", "dev": "->bin", "run": "->bin", "sys": "->/", "tmp": "->bin", "inputs": "->bin", "analysis": "->bin", "docs": "->bin"}), []string{"sh"}, "NAME=image\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			maps.DeleteFunc(c.entries, func(entry, _ string) bool { // what lies in a directory that is something else here
				for top, value := range c.entries {
					if top != entry && value != "" && strings.HasPrefix(entry, top+"/") && c.entries[top] != "busybox" {
						return true
					}
				}
				return false
			})
			dir := h.tree("tree "+name, c.entries)
			script := `busybox() { /busybox "$@"; }
for f in /bin/busybox /usr/bin/busybox /system/bin/busybox /busybox; do [ -x $f ] && break; done
$f id -un; $f id -u; $f cat /etc/os-release 2>/dev/null; echo; $f cat /etc/passwd /etc/group /etc/hosts /etc/hostname
$f ls -A /inputs /docs /analysis /run /sys /home /home/analysis /tmp /var; $f cat /etc/gitconfig /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us /data/x; $f readlink /var/tmp; $f readlink /etc/localtime; echo $PWD >here; $f test -r /proc/self/stat && echo proc; echo x >/tmp/x; echo x >/home/analysis/x; $f test -w /dev/null && echo null
$f find / -name IMAGE -o -name '*' -path /proc -prune -o -path /dev -prune | $f grep IMAGE; exit 0`
			r := h.start(append([]string{"--id", h.newID(), "--rootfs", "./tree " + name, "--data", "given", "--"}, append(c.shell, "-c", script)...)...)
			r.expect(t, "complete", "exit", 0)
			uid := map[bool]string{true: "1000", false: "0"}[theHost.ranged]
			want := "analysis\n" + uid + "\n" + c.etc + "\n" +
				"analysis:x:" + uid + ":" + uid + ":analysis:/home/analysis:/bin/sh\n" +
				"root:x:0:0:root:/root:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" +
				"analysis:x:" + uid + ":\nroot:x:0:\nnogroup:x:65534:\n" +
				"127.0.0.1 localhost scidex\n::1 localhost ip6-localhost ip6-loopback\nscidex\n" +
				"/analysis:\n\n/docs:\n\n/home:\nanalysis\n\n/home/analysis:\n\n/inputs:\n\n/run:\n\n/sys:\nfs\n\n/tmp:\n\n/var:\ntmp\n" +
				"[safe]\n\tdirectory = *\n2147483648\n100000\ngiven/tmp\n/usr/share/zoneinfo/Etc/UTC\nproc\nnull\n"
			if got := h.stdoutOf(r); got != want {
				t.Errorf("inside:\n%s\nwant:\n%s\n%s", got, want, h.stderrOf(r))
			}
			if s := r.Sandbox; s.Rootfs != dir || s.RootfsDigest != nil || s.Reference != nil {
				t.Errorf("sandbox %+v", s)
			}
			if len(r.Outputs) != 1 || r.Outputs[0].Path != "here" {
				t.Errorf("outputs %+v", r.Outputs)
			}
			again := h.start("--again", r.ID)
			if again.expect(t, "complete", "exit", 0); h.stdoutOf(again) != want {
				t.Errorf("once more:\n%s", h.stdoutOf(again))
			}
		})
	}
}

// TestRootfsLeadsNowhere: links at the top of a hostile root filesystem lead to the host outside, and nowhere inside.
func TestRootfsLeadsNowhere(t *testing.T) {
	h := newHarness(t)
	h.write("secret/passwd", "CANARY", 0o644)
	h.write("secret/sub/canary", "CANARY", 0o644)
	secret := h.path("secret")
	up := strings.Repeat("../", 30)
	entries := alpine(map[string]string{
		"usr": "->" + secret, "etc": "->" + secret, "opt": "->" + up + secret[1:], "srv": "->../secret", "mnt": "->/proc/self/root" + secret,
		"work": "->" + secret, "data": "->" + secret, "proc": "->" + secret, "dev": "->" + secret, "tmp": "->" + secret, "home": "->" + secret,
		"run": "->" + secret, "var": "->" + up + secret[1:], "root": "->" + secret, "lib": "->" + secret, "sys": "->" + secret,
		"inputs": "->" + secret, "analysis": "->" + secret, "canary": "->" + secret + "/passwd",
	})
	for _, below := range []string{"usr/bin/", "usr/lib/", "etc/os-release", "etc/passwd", "etc/group", "root/", "lib/ld-musl.so"} {
		delete(entries, below)
	}
	dir := h.tree("tree", entries)
	mkfifo(t, filepath.Join(dir, "fifo"))
	for name, value := range entries { // the control: a program that binds or reads these by path is led to the host
		if strings.HasPrefix(value, "->/proc") {
			continue // another root, but the same of this process
		}
		if path := filepath.Join(dir, name); strings.Contains(value, "secret") {
			if name != "canary" {
				path += "/passwd"
			}
			if text := readFile(t, path); text != "CANARY" {
				t.Fatalf("the control %s leads nowhere: %q", name, text)
			}
		}
	}
	held, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	before := snapshot(t, secret)
	h.write("script.sh", `
for d in / /usr /etc /opt /srv /mnt /work /data /proc /dev /tmp /home /run /var /root /lib /sys /inputs /analysis; do
	cat $d/passwd $d/sub/canary $d/canary
	echo written >$d/passwd
done 2>/dev/null
cat /canary `+secret+`/passwd /proc/self/root`+secret+`/passwd 2>/dev/null
cat /fifo & # what is written goes to this one, and to no reader outside; Landlock lets nothing be written
echo to the fifo >/fifo || kill $!
wait
word=CANA
find / -path /proc -prune -o -type f -exec grep -l ${word}RY {} + 2>/dev/null
exit 0
`, 0o644)
	r := h.start("--id", h.newID(), "--rootfs", dir, "--script", "script.sh")
	r.expect(t, "complete", "exit", 0)
	written := landlock.Version() == 0
	if got := h.stdoutOf(r); strings.Contains(got, "CANARY") || strings.Contains(got, "to the fifo") != written || !strings.Contains(got, "analysis:x:") {
		t.Errorf("inside:\n%s", got)
	}
	_ = held.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := held.Read(make([]byte, 100)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes came out of the FIFO: %v", n, err)
	}
	if after := snapshot(t, secret); !maps.Equal(before, after) {
		t.Errorf("files of the host changed:\n%s", changes(before, after))
	}
	// They do not redirect mounts either, and no mount hides a link that others rely on.
	h.write("given", "", 0o644)
	for _, destination := range []string{"/opt/x", "/srv", "/canary", "/bin2/x"} {
		args := []string{"run", "--id", h.newID(), "--rootfs", dir, "--input", "given:" + destination, "--", "true"}
		if destination == "/bin2/x" {
			h.mustRun(args...)
			continue
		}
		h.mustRefuse(args, "given", destination, "symbolic link", "choose another destination")
	}
}

// TestRootfsRefused: directories that cannot or must not be shown are refused, with advice.
func TestRootfsRefused(t *testing.T) {
	h := newHarness(t)
	dir := h.tree("tree", alpine(nil))
	closed := h.tree("closed", alpine(nil))
	h.write("file", "", 0o644)
	if err := errors.Join(os.Chmod(closed, 0o700), os.MkdirAll(h.root+"/open", 0o755)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []string { return append([]string{"run", "--id", h.newID(), "--rootfs"}, args...) }
	for name, c := range map[string]struct {
		path  string
		words []string
	}{
		"missing":  {"./missing", []string{"--rootfs", h.path("missing"), "does not exist"}},
		"a file":   {"./file", []string{"--rootfs", h.path("file"), "is a file", "give a directory"}},
		"the host": {"/", []string{"--rootfs", `"/"`, "holds"}},
		"our own":  {h.root + "/open", []string{"--rootfs", h.root, "scidex-oci keeps"}},
		"no name":  {"a b", []string{"rootfs", `"a b"`, "./DIR"}},
		"empty":    {"", []string{"--rootfs", "empty"}},
	} {
		t.Run(name, func(t *testing.T) { h.in(t).mustRefuse(run(c.path, "--", "true"), c.words...) })
	}
	t.Run("no command", func(t *testing.T) { h.in(t).mustRefuse(run(dir), "nothing to run") })
	t.Run("closed", func(t *testing.T) {
		h := h.in(t)
		if theHost.ranged {
			words := []string{"--rootfs", closed, "0700", "chmod o+rx"}
			if !theHost.root {
				words = append(words, "--ids self")
			}
			h.mustRefuse(run(closed, "--", "true"), words...)
		}
		if !theHost.root {
			h.start("--id", h.newID(), "--ids", "self", "--rootfs", closed, "--", "true").expect(t, "complete", "exit", 0)
		}
	})
	t.Run("allow_binds", func(t *testing.T) {
		h := h.in(t)
		config := h.write("config.yaml", "allow_binds: ["+dir+"]\n", 0o644)
		h.mustRun("--config", config, "run", "--id", h.newID(), "--rootfs", dir, "--", "true")
		h.mustRefuse([]string{"--config", config, "run", "--id", h.newID(), "--rootfs", h.tree("other", alpine(nil)), "--", "true"}, "--rootfs", "lies outside", config)
	})
}

// TestRootfsManifest: a path in a manifest is relative to it.
func TestRootfsManifest(t *testing.T) {
	h := newHarness(t)
	dir := h.tree("below/tree", alpine(nil))
	manifest := h.write("below/run.yaml", "command: [cat, /etc/os-release]\nrootfs: ./tree\n", 0o644)
	r := h.start("--id", h.newID(), "-f", manifest)
	r.expect(t, "complete", "exit", 0)
	if got := h.stdoutOf(r); got != "NAME=image\n" || r.Analysis.Rootfs != dir {
		t.Errorf("%q in %q", got, r.Analysis.Rootfs)
	}
	if out := h.mustRun("show", r.ID).stdout; !strings.Contains(out, "rootfs "+dir) {
		t.Errorf("show says nothing of it:\n%s", out)
	}
}

// TestRootfsBundle: a bundle of a root filesystem gives the same result under the distribution's runc as the run.
func TestRootfsBundle(t *testing.T) {
	h := newHarness(t)
	h.write("data/x", "given\n", 0o644)
	dir := h.tree("tree", alpine(map[string]string{"etc/conf.d/x": "x\n", "init": "->bin/busybox", "notes": "notes\n", "work/IMAGE": "", "opt/a b/c": "c\n", "var/lib/x": "x\n"}))
	mkfifo(t, filepath.Join(dir, "fifo"))
	for dir := h.dir; dir != os.TempDir(); dir = filepath.Dir(dir) { // for the ids of root's container
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := `cat /etc/os-release /etc/conf.d/x /notes "/opt/a b/c" /var/lib/x /data/x /etc/hosts; readlink /init; readlink /var/tmp; ls -A / | grep -v fifo; echo x >/notes; cat /etc/passwd | grep -c analysis; pwd`
	request := []string{"--rootfs", dir, "--data", "data", "--", "sh", "-c", script}
	r := h.start(append([]string{"--id", h.newID()}, request...)...)
	r.expect(t, "complete", "exit", 0)
	id := h.newID()
	h.mustRun(append([]string{"spec", "--bundle", "bundle", "--id", id}, request...)...)
	decodeSpec(t, []byte(readFile(t, h.path("bundle/config.json"))))
	out := h.finish(h.command("runc", "--root", h.path("state"), "run", "--bundle", h.path("bundle"), id))
	if want := h.stdoutOf(r); out.code != 0 || out.stdout != want || !strings.Contains(want, "NAME=image\n") {
		t.Errorf("runc: %d\n%s\nthe run:\n%s\n%s", out.code, out.stdout, want, out.stderr)
	}
}

// TestRootfsAttacks runs the attacks that write everywhere on a root filesystem in which everybody has every right; in
// a single run, and in a prepared one.
func TestRootfsAttacks(t *testing.T) {
	sum := tally{}
	for _, name := range []string{"readonly.py", "root.py"} {
		t.Run(name, func(t *testing.T) {
			p, h := readAttack(t, name), newHarness(t)
			outside := newArena(h, "control", p).outside(p)
			tree := h.pythonTree("arena/tree")
			spoilable(h, "arena/tree/spoil")
			if out := h.finish(h.command("chmod", "-R", "a+rwX", tree)); out.code != 0 {
				t.Fatal(out.stderr)
			}
			under := newArena(h, "arena", p)
			under.flags = append(under.flags, "--rootfs="+tree)
			under.within["input"] = "/spoil"
			p.judge(t, outside, under.inside(p), sum)
			p.judge(t, outside, under.ready(p), sum)
			under.inspect(false)
		})
	}
	fmt.Println("attacks on root filesystems:", sum)
}

// TestRootfsSetID: set-id bits of a root filesystem are inert, and what its modes close is closed.
func TestRootfsSetID(t *testing.T) {
	h := newHarness(t)
	dir := h.tree("tree", alpine(nil))
	for path, mode := range map[string]os.FileMode{"bin/busybox.setid": 0o755 | os.ModeSetuid | os.ModeSetgid, "bin/none": 0o600} {
		path = filepath.Join(dir, path)
		if err := errors.Join(copyFile(busybox, path), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	r := h.start("--id", h.newID(), "--rootfs", dir, "--", "sh", "-c", `
test -u /bin/busybox.setid && test -g /bin/busybox.setid && /bin/busybox.setid id -u; /bin/busybox.setid id -g; id -u; id -g; test -x /bin/none || echo closed; grep -c " / / ro,nosuid,nodev" /proc/self/mountinfo`)
	r.expect(t, "complete", "exit", 0)
	want := map[bool]string{true: strings.Repeat("1000\n", 4) + "closed\n1\n", false: strings.Repeat("0\n", 4) + "closed\n1\n"}[theHost.ranged]
	if got := h.stdoutOf(r); got != want {
		t.Errorf("inside: %q, want %q", got, want)
	}
}
