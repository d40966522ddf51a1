package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAttacks runs every program of testdata/attacks: outside as the control, in which each try must succeed, and
// inside, where none may: in a single run, and in one that was prepared before its turn. See the README.md there.
func TestAttacks(t *testing.T) {
	sum, readySum := tally{}, tally{}
	for _, name := range attackPrograms(t) {
		t.Run(name, func(t *testing.T) {
			p := readAttack(t, name)
			h := newHarness(t)
			control := newArena(h, "control", p)
			outside := control.outside(p)
			control.inspect(true)
			under := newArena(h, "arena", p)
			p.judge(t, outside, under.inside(p), sum)
			if name != "root.py" || inSoak() { // which looks at every file of the host; TestRootfsAttacks has it in a smaller tree
				p.judge(t, outside, under.ready(p), readySum)
			}
			under.inspect(false)
		})
	}
	fmt.Println("attacks:", sum)
	fmt.Println("attacks when made ready ahead:", readySum)
}

// unknown are the errors of a kernel that lacks a feature.
var unknown = []string{
	"ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ENOPROTOOPT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "ENODEV", "ENOENT", "ENODATA",
	"SIGSEGV", "SIGILL",
}

// excused returns why the control of a try shows nothing here: "" if it must succeed.
func (p attack) excused(try, outside string) string {
	for _, who := range p.arguments("control", try) {
		switch {
		case who == "never",
			who == "root" && !theHost.root,
			who == "range" && !theHost.ranged,
			who == "kernel" && slices.Contains(unknown, outside),
			who == "caller" && slices.Contains([]string{"EPERM", "ENOMEM"}, outside):
			return who
		}
	}
	return ""
}

// lacking reports whether a try ends inside as it does outside, because this kernel has no such way: if it emulates no
// 32-bit calls, int 0x80 is a fault before any filter.
func (p attack) lacking(try, outside, inside string) bool {
	return inside == outside && p.excused(try, outside) == "kernel"
}

// tally counts the tries of all programs, and those whose control shows nothing here, by the reason.
type tally map[string]int

func (s tally) String() string {
	return fmt.Sprintf("%d tries, %d shown to succeed outside; not shown here: %d that only root can do, "+
		"%d that take a range of ids, %d that this kernel lacks, %d beyond the caller's limits, %d that nobody can; "+
		"%d known to succeed inside",
		s["tries"], s["shown"], s["root"], s["range"], s["kernel"], s["caller"], s["never"], s["open"])
}

// judge compares what the program said outside and inside.
func (p attack) judge(t *testing.T, outside, inside verdicts, sum tally) {
	t.Helper()
	if a, b := keys(outside), keys(inside); !slices.Equal(a, b) {
		t.Errorf("outside it tried %q,\ninside %q", a, b)
	}
	for _, try := range keys(outside) {
		got := outside[try]
		sum["tries"]++
		why := p.excused(try, got)
		if got != "ok" && why == "" {
			t.Errorf("control: %s: %s outside: it proves nothing", try, got)
		}
		if got == "ok" {
			why = "shown"
		}
		sum[why]++
	}
	for _, try := range keys(inside) {
		got := inside[try]
		want := p.wanted(try)
		if open := len(p.arguments("open", try)) > 0; open && got == "ok" {
			sum["open"]++
		} else if open {
			t.Errorf("%s: %s inside: it is no longer open, so take it out of the head comment", try, got)
		} else if got == "ok" {
			t.Errorf("%s: it succeeded inside", try)
		} else if len(want) > 0 && !slices.Contains(want, got) && !p.lacking(try, outside[try], got) {
			t.Errorf("%s: %s inside, want %s", try, got, strings.Join(want, " or "))
		}
	}
	for _, line := range p.lines {
		for _, pattern := range line.tries {
			tried := slices.ContainsFunc(keys(outside), func(try string) bool { return fits(pattern, try) })
			if !tried && (line.argument != "zone" || hasAddress(t)) { // a container may have none but its loopback's
				t.Errorf("the head comment names %q, which is not tried", pattern)
			}
		}
	}
}

// hasAddress reports whether this machine has an address other than loopback.
func hasAddress(t *testing.T) bool {
	return slices.ContainsFunc(addresses(t), func(host string) bool {
		address, err := netip.ParseAddr(host)
		return err == nil && !address.IsLoopback()
	})
}

func keys[V any](v map[string]V) []string {
	return slices.Sorted(maps.Keys(v))
}

// outside runs the program as the caller, without a sandbox.
func (a *arena) outside(p attack) verdicts {
	a.h.t.Helper()
	argv := append(a.program(a.h.path(a.name+"/project")), a.tell(nil))
	cmd := exec.CommandContext(a.h.t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = a.h.t.TempDir(), append(slices.Clone(a.env), "PATH=/usr/bin:/bin:/usr/sbin:/sbin")
	out, err := cmd.Output()
	if err != nil {
		a.h.t.Fatalf("control of %s: %v\n%s", p.name, err, stderrOf(err))
	}
	return decodeVerdicts(a.h.t, out)
}

// inside runs it in a run.
func (a *arena) inside(p attack) verdicts {
	a.h.t.Helper()
	flags := slices.Concat([]string{"--id", a.h.newID()}, a.flags, []string{"--"}, a.program("/analysis"))
	return a.verdictsOf(p, a.h.start(append(flags, a.tell(a.within))...))
}

// ready runs it in a run of a batch whose Python was started before its turn. Programs in other languages are executed
// by a Python script.
func (a *arena) ready(p attack) verdicts {
	a.h.t.Helper()
	line := a.line(p)
	got, _ := a.h.batch(0, append(slices.Clone(a.flags), a.h.lines(line))...)
	r := got[line["id"].(string)]
	if r.Start == nil || r.Start.Kind != "ready" {
		a.h.t.Errorf("the start was %+v", r.Start)
	}
	return a.verdictsOf(p, r)
}

// line runs it as a script of Python.
func (a *arena) line(p attack) manifest {
	project := a.h.path(a.name + "/project")
	line := manifest{"id": a.h.newID(), "script": filepath.Join(project, p.name), "args": []string{a.tell(a.within)}}
	if filepath.Ext(p.name) != ".py" {
		line.and("script", project+"/lib/carry.py").and("args", append(a.program("/analysis"), a.tell(a.within)))
	}
	return line
}

// verdictsOf reads what the program said in a run.
func (a *arena) verdictsOf(p attack, r result) verdicts {
	a.h.t.Helper()
	if r.State != "complete" {
		a.h.t.Fatalf("%s inside: %s, %s: %s\n%s", p.name, r.State, r.Reason, r.Message, a.h.stderrOf(r))
	}
	v := decodeVerdicts(a.h.t, []byte(a.h.stdoutOf(r)))
	if slices.Contains(slices.Collect(maps.Values(v)), "ok") {
		a.h.t.Logf("inside it said\n%s", a.h.stderrOf(r))
	}
	return v
}

// tell is the JSON that the program reads, with what differs where it runs.
func (a *arena) tell(other map[string]any) string {
	a.h.t.Helper()
	all := maps.Clone(a.told)
	maps.Copy(all, other)
	text, err := json.Marshal(all)
	if err != nil {
		a.h.t.Fatal(err)
	}
	return string(text)
}
