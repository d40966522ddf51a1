package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// probe is a script that prints which Python runs it, and needs a package that only the runtime has.
const probe = `
import importlib.metadata, os, subprocess, sys
import whales
print(sys.prefix, sys.base_prefix, whales.SPECIES, importlib.metadata.version("whales"),
      os.environ.get("VIRTUAL_ENV"), os.environ.get("CONDA_PREFIX"))
print(subprocess.run(["count-whales"], capture_output=True, text=True, check=True).stdout, end="")
for name in "new", "lib/new", "bin/python3":
    try:
        open(sys.prefix + "/" + name, "w")
        print("written:", name)
    except OSError as e:
        print(type(e).__name__, e.errno)
`

// probed is its output if the runtime is at prefix. The runtime is read-only (EROFS).
func probed(prefix, base, virtualEnv, condaPrefix string) string {
	return fmt.Sprintf("%s %s 94 1.0 %s %s\n94 of %s\n%s", prefix, base, virtualEnv, condaPrefix, prefix, strings.Repeat("OSError 30\n", 3))
}

// runtimePlaces are directories to make runtimes in: below /tmp, which is a tmpfs in a run, and for root a path that
// the root filesystem lacks.
func (h *harness) runtimePlaces() []string {
	h.t.Helper()
	places := []string{h.dir}
	if !theHost.root {
		h.t.Log("below /tmp alone: only root can write elsewhere; the tests as root do")
		return places
	}
	if err := os.MkdirAll("/opt", 0o755); err != nil {
		h.t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/opt", "e2e-")
	if err == nil {
		h.t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return append(places, dir)
}

// tool runs a program outside, which must succeed, and returns what it says.
func (h *harness) tool(name string, args ...string) string {
	h.t.Helper()
	out := h.finish(h.command(name, args...))
	if out.code != 0 {
		h.t.Fatalf("%s %q: %s", name, args, out.stderr)
	}
	return strings.TrimSpace(out.stdout)
}

// venv makes a virtual environment with a package and a program in it.
func (h *harness) venv(python, dir string) string {
	h.t.Helper()
	h.tool(python, "-m", "venv", "--without-pip", dir)
	h.addPackage(dir)
	return dir
}

// addPackage installs a package, and a program whose first line has the environment's path, as pip writes it.
func (h *harness) addPackage(prefix string) {
	h.t.Helper()
	site := h.tool(prefix+"/bin/python3", "-c", "import site; print(site.getsitepackages()[-1])")
	for name, text := range map[string]string{
		site + "/whales.py":                     "SPECIES = 94\n",
		site + "/whales-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: whales\nVersion: 1.0\n",
		prefix + "/bin/count-whales":            "#!" + prefix + "/bin/python3\nimport sys, whales\nprint(whales.SPECIES, 'of', sys.prefix)\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			h.t.Fatal(err)
		}
		writeFile(h.t, name, text, 0o755)
	}
}

// ownPython copies the host's Python to a prefix of its own, as pyenv, uv or a conda base have theirs.
func (h *harness) ownPython(prefix string) string {
	h.t.Helper()
	lib := h.tool("/usr/bin/python3", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))")
	name := filepath.Base(lib) // python3.11
	h.tool("mkdir", "-p", prefix+"/bin", prefix+"/lib/"+name)
	h.tool("cp", "/usr/bin/"+name, prefix+"/bin/"+name)
	h.tool("sh", "-c", `tar -C "$1" --exclude=__pycache__ --exclude=./test --exclude='./config-*' --exclude=./dist-packages -cf - . | tar -C "$2" -xf -`,
		"sh", lib, prefix+"/lib/"+name)
	if err := os.Symlink(name, prefix+"/bin/python3"); err != nil {
		h.t.Fatal(err)
	}
	return prefix
}

// probeIn runs the probe with a runtime and checks what it says.
func (h *harness) probeIn(runtime, want string, flags ...string) {
	h.t.Helper()
	r := h.start(append([]string{"--id", h.newID(), "--runtime", runtime, "--script", "probe.py"}, flags...)...)
	r.expect(h.t, "complete", "exit", 0)
	if got := h.stdoutOf(r); got != want {
		h.t.Errorf("%s: it said\n%swant\n%s%s", runtime, got, want, h.stderrOf(r))
	}
	if r.Sandbox.SocketWall != "overlay" {
		h.t.Errorf("%s is shown behind the wall %q", runtime, r.Sandbox.SocketWall)
	}
}

// TestRuntimeVenv runs a script on environments of the host's own Python and of one elsewhere.
func TestRuntimeVenv(t *testing.T) {
	h := newHarness(t)
	h.write("probe.py", probe, 0o644)
	for _, place := range h.runtimePlaces() {
		own := h.venv("/usr/bin/python3", place+"/own")
		h.probeIn(own, probed(own, "/usr", own, "None"))

		// Its base is found by its links, only by its configuration, and through a link to its prefix.
		base := h.ownPython(place + "/pythons/3.x")
		linked := h.venv(base+"/bin/python3", place+"/linked")
		h.probeIn(linked, probed(linked, base, linked, "None"))

		copied := place + "/copied"
		h.tool(base+"/bin/python3", "-m", "venv", "--without-pip", "--copies", copied)
		h.addPackage(copied)
		h.probeIn(copied, probed(copied, base, copied, "None"))

		minor := place + "/pythons/3"
		if err := os.Symlink("3.x", minor); err != nil {
			t.Fatal(err)
		}
		aliased := h.venv(minor+"/bin/python3", place+"/aliased")
		h.probeIn(aliased, probed(aliased, minor, aliased, "None"))
	}
}

// TestRuntimeConda runs a script on a directory of the shape of a conda environment: a Python of its own, and
// conda-meta. Conda itself is not in Debian.
func TestRuntimeConda(t *testing.T) {
	h := newHarness(t)
	h.write("probe.py", probe, 0o644)
	for _, place := range h.runtimePlaces() {
		env := h.ownPython(place + "/miniconda3/envs/whales")
		h.addPackage(env)
		h.tool("mkdir", env+"/conda-meta")
		writeFile(t, env+"/conda-meta/history", "==> 2026-11-21 00:00:00 <==\n", 0o644)
		// Scripts of "conda activate" are not sourced.
		h.tool("mkdir", "-p", env+"/etc/conda/activate.d")
		writeFile(t, env+"/etc/conda/activate.d/x.sh", "export CONDA_PREFIX=activated\n", 0o755)
		h.probeIn(env, probed(env, env, "None", env))
		r := h.start("--id", h.newID(), "--runtime", env, "--", "sh", "-c", `ls "$CONDA_PREFIX/../.." "$CONDA_PREFIX/.."; command -v python3`)
		r.expect(t, "complete", "exit", 0)
		if got, want := h.stdoutOf(r), env+"/..:\nwhales\n\n"+env+"/../..:\nenvs\n"+env+"/bin/python3\n"; got != want {
			t.Errorf("beside it there is\n%swant\n%s", got, want)
		}
	}
}

// TestRuntimePrograms: a script's interpreter is that of the runtime, if it has one.
func TestRuntimePrograms(t *testing.T) {
	h := newHarness(t)
	h.write("x.R", "cat(R.home(), '\\n')\n", 0o644)
	h.write("x.jl", "", 0o644)
	for _, place := range h.runtimePlaces() {
		tools := place + "/tools"
		for _, name := range []string{"Rscript", "julia"} {
			h.tool("mkdir", "-p", tools+"/bin")
			writeFile(t, tools+"/bin/"+name, "#!/bin/sh\necho \"$0 $1 $PATH\"\n", 0o755)
		}
		for script, program := range map[string]string{"x.R": "Rscript", "x.jl": "julia"} {
			r := h.start("--id", h.newID(), "--runtime", tools, "--script", script)
			r.expect(t, "complete", "exit", 0)
			if got, want := h.stdoutOf(r), fmt.Sprintf("%s/bin/%s /analysis/%s %s/bin:/usr/local/bin:/usr/bin:/bin\n", tools, program, script, tools); got != want {
				t.Errorf("%s was run as %q, want %q", script, got, want)
			}
		}
	}
	// Debian's R is in /usr, which is there already.
	r := h.start("--id", h.newID(), "--runtime", "/usr/lib/R", "--script", "x.R")
	r.expect(t, "complete", "exit", 0)
	if got := h.stdoutOf(r); got != "/usr/lib/R \n" {
		t.Errorf("R says %q\n%s", got, h.stderrOf(r))
	}
}

// TestRuntimeNames: names of the config file work in every form of a request, and the directory is recorded.
func TestRuntimeNames(t *testing.T) {
	h := newHarness(t)
	h.write("probe.py", probe, 0o644)
	env := h.venv("/usr/bin/python3", h.path("envs/whales"))
	want := probed(env, "/usr", env, "None")
	h.write("config.yaml", "runtimes:\n  whales: envs/whales\n  r-base: /usr/lib/R\n", 0o644)
	h.write("manifest.yaml", "script: probe.py\nruntime: whales\n", 0o644)
	h.write("default.yaml", "runtime: whales\nruntimes: {whales: ./envs/whales}\n", 0o644)

	id := h.newID()
	var runs []result
	runs = append(runs, h.start("--config", "config.yaml", "--id", id, "--runtime", "whales", "--script", "probe.py"))
	runs = append(runs, h.start("--again", id))
	runs = append(runs, h.start("--config", "config.yaml", "--id", h.newID(), "-f", "manifest.yaml"))
	runs = append(runs, h.start("--config", "default.yaml", "--id", h.newID(), "--script", "probe.py"))
	runs = append(runs, h.start("--config", "config.yaml", "--id", h.newID(), "-f", "manifest.yaml", "--runtime", "envs/whales"))
	byVariable := h.command(theHost.bin, "run", "--json", "--config", "config.yaml", "--id", h.newID(), "--script", "probe.py")
	byVariable.Env = append(byVariable.Env, "SCIDEX_OCI_RUNTIME=whales")
	runs = append(runs, h.resultOf(byVariable))
	for i, r := range runs {
		r.expect(t, "complete", "exit", 0)
		if got := h.stdoutOf(r); got != want || r.Analysis.Runtime != env {
			t.Errorf("run %d of runtime %q said\n%swant\n%s", i, r.Analysis.Runtime, got, want)
		}
	}
	for _, args := range [][]string{{"--config", "default.yaml", "--runtime", "none"}, {"--config", "config.yaml"}} {
		r := h.start(append(args, "--id", h.newID(), "--", "sh", "-c", `echo "$PATH $VIRTUAL_ENV"`)...)
		if got := h.stdoutOf(r); got != "/usr/local/bin:/usr/bin:/bin \n" || r.Analysis.Runtime != "" {
			t.Errorf("without a runtime: %q, %q", got, r.Analysis.Runtime)
		}
	}
	h.mustRefuse([]string{"run", "--config", "config.yaml", "--runtime", "wales", "--", "true"}, `"wales"`, "config.yaml", "r-base, whales", `did you mean "whales"?`, "./wales")
	h.mustRefuse([]string{"run", "--runtime", "whales", "--", "true"}, `"whales"`, "no config file names runtimes", "runtimes: {whales: DIR}", "./whales")
	for text, words := range map[string][]string{
		"runtimes: [a]":                     {"line 1", "mapping of names to directories"},
		"runtimes: {a: [b]}":                {"line 1", "a: give one directory"},
		"runtimes: {none: /x}":              {"line 1", `"none"`, "not be none"},
		"runtimes: {a/b: /x}":               {"line 1", `"a/b"`, "letters"},
		"runtimes:\n  a: /x\n  a: /y":       {`"a"`},
		"memory: 1GiB\nruntime: {a: /x}":    {"line 2", "runtime", "one value"},
		"memory: 1GiB\nruntimes: /opt/envs": {"line 2", "mapping of names to directories"},
	} {
		h.write("bad.yaml", text+"\n", 0o644)
		h.mustRefuse([]string{"run", "--config", "bad.yaml", "--", "true"}, append(words, "bad.yaml")...)
	}
}

// TestRuntimeLinks: a runtime is at the given path and at its real one.
func TestRuntimeLinks(t *testing.T) {
	h := newHarness(t)
	h.write("probe.py", probe, 0o644)
	for _, place := range h.runtimePlaces() {
		named := place + "/current"
		h.tool("mkdir", place+"/v3")
		if err := os.Symlink("v3", named); err != nil {
			t.Fatal(err)
		}
		h.venv("/usr/bin/python3", named+"/env") // the real one is v3/env
		h.probeIn(named+"/env", probed(named+"/env", "/usr", named+"/env", "None"))
		r := h.start("--id", h.newID(), "--runtime", named+"/env", "--", place+"/v3/env/bin/python3", "-c", "import whales; print(whales.SPECIES)")
		r.expect(t, "complete", "exit", 0)
	}
}

// TestRuntimeLink: a link to the interpreter is shown without its neighbours.
func TestRuntimeLink(t *testing.T) {
	h := newHarness(t)
	h.write("probe.py", probe, 0o644)
	for _, place := range h.runtimePlaces() {
		base := h.ownPython(place + "/share/python")
		h.tool("mkdir", place+"/local", place+"/local/bin")
		writeFile(t, place+"/local/bin/secret", "secret", 0o644)
		link := place + "/local/bin/python3"
		if err := os.Symlink(base+"/bin/python3", link); err != nil {
			t.Fatal(err)
		}
		env := h.venv(link, place+"/env")
		if place == h.dir {
			h.mustRefuse([]string{"run", "--runtime", env, "--", "true"}, "--runtime", link, "nothing but directories", base+"/bin/python3")
			continue
		}
		r := h.start("--id", h.newID(), "--runtime", env, "--script", "probe.py")
		r.expect(t, "complete", "exit", 0)
		if got := h.stdoutOf(r); !strings.HasPrefix(got, env+" ") {
			t.Errorf("it said %s%s", got, h.stderrOf(r))
		}
		r = h.start("--id", h.newID(), "--runtime", env, "--", "ls", place, place+"/local/bin")
		if got, want := h.stdoutOf(r), place+":\nenv\nlocal\nshare\n\n"+place+"/local/bin:\npython3\n"; got != want {
			t.Errorf("beside it there is\n%swant\n%s", got, want)
		}
	}
}

// TestRuntimeRefused: a directory that cannot be shown is refused in a sentence that says why.
func TestRuntimeRefused(t *testing.T) {
	h := newHarness(t)
	for _, dir := range []string{"nothing", "odd/bin", "good/bin", "socket/bin", "fifo/bin", "gone/bin", "unhomed/bin", "strange/bin", "stray/bin", "loop/bin", "co:lon/bin"} {
		h.write(dir+"/.keep", "", 0o644)
	}
	h.write("file", "", 0o644)
	h.write("odd/pyvenv.cfg", "home = relative\n", 0o644)
	h.write("unhomed/pyvenv.cfg", "version = 3\n", 0o644)
	h.write("gone/pyvenv.cfg", "home = /opt/gone/bin\n", 0o644)
	h.write("strange/pyvenv.cfg", "home = "+h.path("good/bin")+"\n", 0o644)
	h.write("strange/bin/python3", "", 0o755)
	h.write("good/bin/program", "", 0o755)
	for link, target := range map[string]string{
		"gone/bin/python3": "/opt/gone/bin/python3", "stray/bin/python3": h.path("good/bin/program"), "loop/bin/python3": "python3",
	} {
		if err := os.Symlink(target, h.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(h.path("fifo/bin/f"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := h.socket("socket/bin/s")(); err != nil {
		t.Fatal(err)
	}
	h.start("--id", h.newID(), "--runtime", "./good", "--", "true").expect(t, "complete", "exit", 0)
	for _, c := range []struct {
		runtime string
		words   []string
	}{
		{"./missing", flags("does not exist")},
		{"./file", flags("not a directory")},
		{"./nothing", flags("no bin directory")},
		{"./odd", flags("pyvenv.cfg", `"relative"`, "make the environment again")},
		{"./unhomed", flags("pyvenv.cfg", "names no home", "make the environment again")},
		{"./gone", flags("/opt/gone/bin/python3", "does not exist", "make the environment again")},
		{"./strange", flags("good/bin", "in no Python installation")},
		{"./stray", flags("good/bin", "in no Python installation")},
		{"./loop", flags("loop/bin/python3", "more than 40 links")},
		{"./fifo", flags("a FIFO", `"bin/f"`, "remove it")},
		{"./socket", flags("a unix socket", `"bin/s"`, "remove it")},
		{"./co:lon", flags("colon", "rename it")},
		{"/", flags("all of the host")},
		{"/etc/alternatives/..", flags("no bin directory")},
		{h.root, flags("no bin directory")},
	} {
		h.mustRefuse([]string{"run", "--id", h.newID(), "--runtime", c.runtime, "--", "true"}, append(c.words, "--runtime")...)
	}
	for _, place := range h.runtimePlaces()[1:] { // below /tmp no input can be
		h.tool("mkdir", "-p", place+"/good/bin")
		for _, at := range []string{place, place + "/good", place + "/good/bin/x"} {
			h.mustRefuse([]string{"run", "--runtime", place + "/good", "--input", "nothing:" + at, "--", "true"}, "--runtime", "one would hide the other", "SRC:/inputs/NAME")
		}
	}
	h.mustRefuse([]string{"run", "--runtime", "", "--", "true"}, "--runtime", "is empty")
	h.write("home-bin/x", "", 0o644)
	h.setenv("HOME", h.path("good"))
	h.mustRefuse([]string{"run", "--runtime", "./good", "--", "true"}, "--runtime", "home directory")
}

// TestRuntimeBounds: a runtime is a bind like any other.
func TestRuntimeBounds(t *testing.T) {
	h := newHarness(t)
	h.write("env/bin/program", "#!/bin/sh\necho ran\n", 0o755)
	h.write("config.yaml", "allow_binds: [data]\n", 0o644)
	h.mustRefuse([]string{"run", "--config", "config.yaml", "--runtime", "./env", "--", "program"}, "--runtime", "lies outside", "allow_binds")
	h.write("config.yaml", "allow_binds: [env]\n", 0o644)
	h.start("--config", "config.yaml", "--id", h.newID(), "--runtime", "./env", "--", "program").expect(t, "complete", "exit", 0)
	h.setenv("PGHOST", h.path("env/bin"))
	h.mustRefuse([]string{"run", "--runtime", "./env", "--", "program"}, "--runtime", "holds", "where PostgreSQL has its sockets")

	closed := newHarness(t)
	closed.write("env/bin/program", "#!/bin/sh\necho ran\n", 0o755)
	if err := os.Chmod(closed.path("env"), 0o700); err != nil {
		t.Fatal(err)
	}
	if theHost.ranged {
		closed.mustRefuse([]string{"run", "--runtime", "./env", "--", "program"}, "--runtime", "mode 0700", "chmod o+rx")
	}
	if !theHost.root {
		closed.start("--id", closed.newID(), "--ids", "self", "--runtime", "./env", "--", "program").expect(t, "complete", "exit", 0)
	}
}

// TestRuntimeBundle: a bundle has the runtime too.
func TestRuntimeBundle(t *testing.T) {
	h := newHarness(t)
	for dir := h.dir; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := h.pythonTree("tree")
	for _, place := range h.runtimePlaces() {
		base := h.ownPython(place + "/pythons/3.x")
		env := h.venv(base+"/bin/python3", place+"/env")
		for _, rootfs := range []string{"host", root} {
			id := h.newID()
			bundle := h.path("bundle-" + id)
			h.mustRun("spec", "--bundle", bundle, "--id", id, "--rootfs", rootfs, "--runtime", env, "--", "count-whales")
			out := h.finish(h.command("runc", "--root", h.path("state-"+id), "run", "--bundle", bundle, id))
			if want := "94 of " + env + "\n"; out.code != 0 || out.stdout != want {
				t.Errorf("runc on %s: exit code %d, standard output %q, want %q\n%s", rootfs, out.code, out.stdout, want, out.stderr)
			}
		}
	}
}

// TestRuntimeOnRootfs: a runtime is shown in another root filesystem together with the Python that it was made with; if
// that is the host's own, which is missing there, it is refused.
func TestRuntimeOnRootfs(t *testing.T) {
	h := newHarness(t)
	h.write("probe.py", probe, 0o644)
	root := h.pythonTree("tree")
	for _, place := range h.runtimePlaces() {
		base := h.ownPython(place + "/pythons/3.x")
		env := h.venv(base+"/bin/python3", place+"/env")
		h.probeIn(env, probed(env, base, env, "None"), "--rootfs", root)
	}
	own := h.venv("/usr/bin/python3", h.path("own"))
	h.mustRefuse([]string{"run", "--rootfs", root, "--runtime", own, "--", "true"}, "base interpreter of --runtime", `"/usr"`, "the root filesystem's programs are there", "make it again")
}

// TestRuntimeByteCode runs a module whose source was changed after it was compiled, and has its former time and size:
// Python uses the byte code, in a run as outside.
func TestRuntimeByteCode(t *testing.T) {
	h := newHarness(t)
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	site := h.tool(venv+"/bin/python3", "-c", "import site; print(site.getsitepackages()[-1])")
	module := site + "/compiled.py"
	writeFile(t, module, "SAYS = 'byte code'\n", 0o644)
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	age := func() {
		if err := os.Chtimes(module, then, then); err != nil {
			t.Fatal(err)
		}
	}
	age()
	h.tool(venv+"/bin/python3", "-m", "compileall", "-q", "--invalidation-mode", "timestamp", module)
	writeFile(t, module, "SAYS = 'plaintext'\n", 0o644)
	age()
	h.write("says.py", "import compiled\nprint(compiled.SAYS)\n", 0o644)
	if outside := h.tool(venv+"/bin/python3", h.dir+"/says.py"); outside != "byte code" {
		t.Fatalf("outside it says %q", outside)
	}
	r := h.start("--id", h.newID(), "--runtime", venv, "--script", "says.py")
	r.expect(t, "complete", "exit", 0)
	if got := h.stdoutOf(r); got != "byte code\n" {
		t.Errorf("a run says %q", got)
	}
}
