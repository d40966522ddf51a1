package e2e

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hostileTree is a program of testdata/trees, and what is to become of what it leaves.
type hostileTree struct {
	flags []string // of run
	args  []string
	// launcher is what the run is started with.
	launcher []string
	code     int // of its exit
	want     func(t *testing.T, h *harness, r result) tree
}

// hostileTrees are given a file of the host that must not be read.
func hostileTrees(h *harness, secret string) map[string]hostileTree {
	return map[string]hostileTree{
		"links": {
			flags: flags("--input", h.write("table", "", 0o644), "--exclude", "*.tmp"), args: flags(secret),
			want: func(*testing.T, *harness, result) tree { return treeOfLinks(secret) },
		},
		"kinds":  {want: treeOfKinds},
		"names":  {args: encoded(oddPaths(), tooLongPaths()), want: treeOfNames},
		"deep":   {launcher: flags("prlimit", "--nofile=1024:1024"), want: treeOfDepths},
		"sparse": {flags: flags("--work-size=8388607MiB"), want: treeOfHoles}, // 8 TiB with what one file may have beyond
		"bombs":  {want: treeOfBombs},
		"claims": {args: flags("e2e-claimed"), code: 3, want: treeOfClaims},
		"stays":  {args: flags(filepath.Dir(secret)), want: treeOfStayers},
	}
}

// TestHostileTrees: every entry of every tree gets its verdict, and every command shows the same.
func TestHostileTrees(t *testing.T) {
	catalogs(t, func(t *testing.T, h *harness) {
		tr := newTreasure(t, h.id("canary"))
		for name, c := range hostileTrees(h, filepath.Join(tr.dir, "0")) {
			t.Run(name, func(t *testing.T) { c.check(t, h.in(t), name) })
		}
		tr.untouched(h.root)
	})
}

func (c hostileTree) check(t *testing.T, h *harness, name string) {
	args := slices.Concat(c.launcher, []string{theHost.bin, "run", "--json", "--id", h.id(name), "--data=none", "--docs=none"}, c.flags,
		[]string{"--script", testdata(t, "trees/"+name+".py")}, c.args)
	r := h.resultOf(h.command(args[0], args[1:]...))
	state := "complete"
	if c.code != 0 {
		state = "failed"
	}
	r.expect(t, state, "exit", c.code)
	if r.Kept != "" || len(r.Outputs) == 0 {
		t.Fatalf("kept %q, %d outputs; it said %s", r.Kept, len(r.Outputs), h.stderrOf(r))
	}
	h.expectTree(r, c.want(t, h, r))
}

func treeOfLinks(secret string) tree {
	want := tree{
		"relative": linkTo(strings.Repeat("../", 12) + secret[1:]), "magic": linkTo("/proc/1/root" + secret),
		"descriptor": linkTo("/proc/self/fd/0"), "circle": linkTo("/proc/self/cwd"), "out": linkTo(filepath.Dir(secret)),
		"dangling": linkTo("nowhere"), "strange": linkTo(`to \xff\n\x1b[31m`), "self": linkTo("self"), "one": linkTo("two"), "two": linkTo("one"),
		"absolute": linkTo(secret), "absolute-too": linkTo(secret),
		"within": linkTo("d"), "d/up": linkTo(".."), "d/sibling": linkTo("../d/file"), "d/file": ofText("in d"),
		"first": ofText("two names"), "d/second": ofText("two names"), "taken": ofText("excluded"),
		"excluded.tmp": refusedAs("excluded", "matches *.tmp"), "pipe": refusedAs("fifo", ""), "pipe-too": refusedAs("fifo", ""),
		"half": refusedAs("hardlink", "1 of its 2 names were found"),
	}
	want["d"+strings.Repeat("/d", 255)] = refusedAs("too_deep", "256 levels; 45 below it")
	return want
}

func treeOfKinds(t *testing.T, h *harness, r result) tree {
	want := tree{"fifo": refusedAs("fifo", ""), "socket": refusedAs("socket", ""), "program": ofText("#!/bin/sh\n"), "group/file": ofText("in it")}
	for path, content := range map[string]string{
		"mode-000": "no right", "write-only": "to write", "closed/file": "behind", "closed/deeper/file": "far behind",
		"unlisted/file": "known by name only", "frozen/file": "stays", "sticky/file": "sticks",
	} {
		want[path] = ofText(content)
	}
	got := decodeVerdicts(t, []byte(h.stdoutOf(r)))
	if got["overlay whiteout"] == "ok" { // the one device that the kernel lets everybody make, and nobody open (since Linux 5.8)
		want["whiteout"] = refusedAs("device", "character device 0:0")
		delete(got, "overlay whiteout")
	}
	got.each(t, func(name, got string) string { // EINVAL: an id that is not mapped
		return unless(got == "EPERM" || got == "EINVAL" && strings.HasSuffix(name, "'s"), "want it refused")
	})
	for _, o := range r.Outputs {
		if modes := map[string]string{"program": "0755", "mode-000": "0000", "write-only": "0222"}; modes[o.Path] != "" && o.Mode != modes[o.Path] {
			t.Errorf("%s has mode %s", o.Path, o.Mode)
		}
	}
	return want
}

// oddPaths are what a hostile or careless analysis calls its files; every byte that a name can have is among them.
func oddPaths() []string {
	every := make([]byte, 0, 254)
	for b := 1; b < 256; b++ {
		if b != '/' {
			every = append(every, byte(b))
		}
	}
	paths := flags("...", "..foo", ".. ", "..\n", ".hidden", "-rf", "--", "~", "$HOME", "%s%n", "*", `\x41`, "CON", "a:b", " ", "\u202egnp.exe", "e\u0301", "é",
		"new\nline", "esc\x1b[31mred", "\xff", "\xfe/\xff", "\xc3\x28", "\xed\xa0\x80", strings.Repeat("n", 255), strings.Repeat("\xff", 255),
		"d/.../..foo/\x01", string(every))
	return append(paths, longPath(4096))
}

// longPath is a path that no compression makes shorter: the index of a database has a bound of its own.
func longPath(length int) string {
	var path []byte
	for part := 0; len(path) < length; part++ {
		sum := sha512.Sum512([]byte{byte(part)})
		for _, b := range sum {
			if b != 0 && b != '/' {
				path = append(path, b)
			}
		}
		path[len(path)-1] = '/'
	}
	path = path[:length]
	path[length-1] = 'x'
	return string(path)
}

// tooLongPaths are beyond the bound: of a file, and of a directory with two files below it.
func tooLongPaths() []string {
	return flags(longPath(4096)+"y", longPath(4090)+"-beyond/x", longPath(4090)+"-beyond/y")
}

func encoded(lists ...[]string) (all []string) {
	for _, path := range slices.Concat(lists...) {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(path)))
	}
	return all
}

func treeOfNames(*testing.T, *harness, result) tree {
	want := tree{}
	for _, path := range oddPaths() {
		want[path] = ofText(path)
	}
	want[longPath(4096)+"y"] = refusedAs("name", "path of 4097 bytes is longer than 4096")
	want[longPath(4090)+"-beyond"] = refusedAs("name", "path of 4097 bytes is longer than 4096; 2 below it")
	return want
}

func treeOfDepths(*testing.T, *harness, result) tree {
	return tree{
		"middle": ofText("beside"), "d/file": ofText("0"), "d" + strings.Repeat("/d", 254) + "/file": ofText("254"),
		"d" + strings.Repeat("/d", 255): refusedAs("too_deep", "256 levels; 19745 below it"),
	}
}

func treeOfHoles(*testing.T, *harness, result) tree {
	eight := refusedAs("too_large", "8TiB; the bound is 8TiB")
	zeros := strings.Repeat("\x00", 16<<20)
	return tree{"eight": eight, "eight-too": eight, "hole": ofText(zeros), "end": ofText(zeros[3:] + "end")}
}

// treeOfBombs takes the digests of the analysis itself.
func treeOfBombs(t *testing.T, h *harness, r result) tree {
	var digests map[string]string
	if err := json.Unmarshal([]byte(h.stdoutOf(r)), &digests); err != nil || len(digests) != 12 {
		t.Fatalf("%d digests, %v", len(digests), err)
	}
	want := tree{}
	for path, sum := range digests {
		want[path] = leaf{sha256: sum}
	}
	if exists("/tmp/exploded") {
		t.Error("something was opened")
	}
	return want
}

// treeOfClaims reads the claim that the analysis made.
func treeOfClaims(t *testing.T, h *harness, r result) tree {
	claim := strings.TrimSuffix(h.stdoutOf(r), "\n")
	if id, err := lookUp([]byte(claim), "id"); err != nil || id != "e2e-claimed" {
		t.Errorf("the claim was not made: %q, %v", claim, err)
	}
	if r.ID != h.id("claims") || len(r.Analysis.Outputs) > 0 || len(r.Analysis.Exclude) == 0 {
		t.Errorf("the claim was believed: %+v", r)
	}
	return tree{
		"scidex-result.json": ofText(claim), "manifest.json": ofText(claim),
		"manifest.yaml":   ofText("outputs: [invented]\nexclude: []\ncommand: [sh, -c, exit 0]\n"),
		"scidex-oci.yaml": ofText("keep: always\n"), ".scidex-oci": ofText("verdict"), "catalog.db": ofText("SQLite format 3\x00"),
		"000001": ofText("a name of the ingest directory's"), "blobs/sha256": ofText("invented"),
	}
}

// treeOfStayers depends on what the processes were doing when the end of the run killed them: one swap is known, the
// other is not, and the log has whole lines.
func treeOfStayers(t *testing.T, h *harness, r result) tree {
	target := r.tree()["stopped-lure"].detail
	want := tree{"stopped/file": ofText("harmless"), "stopped-lure": refusedAs("symlink", target), "log": r.tree()["log"]}
	bait, lure := "swapped", "swapped-lure"
	if _, turned := r.tree()[bait]; turned {
		bait, lure = lure, bait
	}
	want[bait+"/file"], want[lure] = ofText("harmless"), refusedAs("symlink", target)
	if content := h.blob(want["log"].sha256); content != strings.Repeat("0123456789abcde\n", len(content)/16) {
		t.Errorf("the log has %d bytes, and not whole lines of them", len(content))
	}
	if target == "" || strings.Contains(target, "work") {
		t.Errorf("the lure leads to %q", target)
	}
	return want
}

// TestStayersWorkOutside shows what they do if nobody kills them: each of them changes the tree after the program has
// ended.
func TestStayersWorkOutside(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/usr/bin/python3", testdata(t, "trees/stays.py"), "/etc")
	cmd.Dir = dir
	said := filepath.Join(t.TempDir(), "said") // a file: they keep it open, and a pipe would be waited for
	stdout, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	cmd.Stdout = stdout
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, word := range strings.Fields(readFile(t, said)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
		t.Cleanup(func() { // this process is their parent now
			killed := unix.Kill(pid, unix.SIGKILL)
			if _, err := unix.Wait4(pid, nil, 0, nil); err != nil || killed != nil {
				t.Errorf("end process %d: %v, %v", pid, killed, err)
			}
		})
	}
	if len(pids) != 3 {
		t.Fatalf("they said %q", readFile(t, said))
	}
	if err := unix.Kill(pids[0], unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "the stopped process has swapped", func() bool { return exists(dir+"/went-on") && exists(dir+"/stopped-lure/file") })
	swapped := func() bool { return exists(dir + "/swapped-lure/file") }
	until(t, hangTimeout, "the other swaps to", swapped)
	until(t, hangTimeout, "and fro", func() bool { return !swapped() })
	size := func() int { return len(readFile(t, dir+"/log")) }
	before := size()
	until(t, hangTimeout, "the log changes", func() bool { return size() != before })
}

// TestStayersAreCut ends the run while they are at work: what they have written is partial.
func TestStayersAreCut(t *testing.T) {
	catalogs(t, func(t *testing.T, h *harness) {
		tr := newTreasure(t, h.id("canary"))
		id := h.id("cut")
		l := h.launch(id, "--data=none", "--docs=none", "--script", testdata(t, "trees/stays.py"), tr.dir, "stay")
		l.await("ready")
		all := l.family()
		l.signal(15)
		r := l.wait()
		r.expect(t, "canceled", "stopped", 143)
		want := treeOfStayers(t, h, r)
		for path, leaf := range maps.Clone(want) {
			want[path] = leaf.cut()
		}
		if !want["log"].partial {
			t.Error("the log is whole, it says")
		}
		expectGone(t, all, id)
		h.expectTree(r, want)
		tr.untouched(h.root)
	})
}
