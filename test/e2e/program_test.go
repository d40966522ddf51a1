package e2e

import (
	"os"
	"syscall"
	"testing"
)

// initProgram is the program of PID 1 of a container, which comes from the host.
const initProgram = "/dev/scidex-init"

// addProgram makes a program that everyone may change. Inside it is PID 1's.
func (a *arena) addProgram() {
	t := a.h.t
	t.Helper()
	sleep := readFile(t, "/bin/sleep")
	path := a.h.write("program-of-"+a.name+"/sleep", sleep, 0o777)
	a.told["program"], a.told["command"] = path, []string{path, "1000"}
	a.within["program"], a.within["command"] = initProgram, []string{initProgram, "--", "/bin/sleep", "1000"}
	before := digest([]byte(readFile(t, theHost.bin)))
	a.checks = append(a.checks, func(outside bool) {
		if content, _ := os.ReadFile(path); outside == (string(content) == sleep) {
			t.Errorf("the plain program is as it was: %v; outside: %v", !outside, outside)
		}
		if digest([]byte(readFile(t, theHost.bin))) != before {
			t.Error("the binary changed")
		}
	})
}

// overwriting opens the program of every process for writing again and again, and prints what it could open. A
// redirection that fails would end the shell but for command (sh(1)).
const overwriting = `echo ready; while :; do for f in /proc/[0-9]*/exe /proc/[0-9]*/task/*/exe /proc/self/fd/9 /dev/scidex-init; do
	{ command exec 9<"$f"; command : >>"$f"; } 2>/dev/null && echo "opened $f"
done; done`

// TestBinaryIsNotOverwritten runs a copy of the binary that everyone may change, and with it the commands that make a
// runtime run itself inside; two runs try to overwrite every running program.
func TestBinaryIsNotOverwritten(t *testing.T) {
	h := newHarness(t)
	want := readFile(t, theHost.bin)
	program := h.write("program/scidex-oci", want, 0o777)
	attackers := []*launch{h.launch(h.newID(), "--", "sh", "-c", overwriting), h.launch(h.newID(), "--", "sh", "-c", overwriting)}
	for _, l := range attackers {
		l.await("ready")
	}
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"itself":              {[]string{"--", "/proc/self/exe"}, 125},
		"itself with a child": {[]string{"--", "/proc/self/exe", "--", "/bin/true"}, 125},
		"PID 1":               {[]string{"--", "/proc/1/exe"}, 126},
		"the init":            {[]string{"--", initProgram, "--", "/bin/true"}, 125},
		"by shebang":          {[]string{"--script", h.write("itself", "#!/proc/self/exe\n", 0o755)}, 125},
		"by link":             {[]string{"--", "sh", "-c", "ln -s /proc/self/exe link; exec ./link -c 'exit 7'"}, 7},
	} {
		for range 3 {
			out := h.finish(h.command(program, append([]string{"run", "--id", h.newID()}, c.args...)...))
			if out.code != c.code {
				t.Errorf("%s: exit code %d, want %d\n%s", name, out.code, c.code, out.stderr)
			}
			if readFile(t, program) != want {
				t.Fatalf("%s: the binary was overwritten", name)
			}
		}
	}
	for _, l := range attackers {
		l.signal(syscall.SIGINT)
		r := l.wait()
		r.expect(t, "canceled", "stopped", 130)
		if got := h.stdoutOf(r); got != "ready\n" {
			t.Errorf("it says %q", got)
		}
	}
}
