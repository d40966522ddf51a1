package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAttacks runs every program of testdata/attacks: outside as the control, where each thing that it
// tries must succeed, and inside, where none may. See the README.md there.
func TestAttacks(t *testing.T) {
	sum := tally{}
	for _, name := range attackPrograms(t) {
		t.Run(name, func(t *testing.T) {
			p := readAttack(t, name)
			h := newHouse(t)
			control := newArena(h, "control", p)
			outside := control.outside(p)
			control.inspect(true)
			under := newArena(h, "arena", p)
			inside := under.inside(p)
			under.inspect(false)
			p.judge(t, outside, inside, sum)
		})
	}
	fmt.Println("attacks:", sum)
}

// attackPrograms lists the programs: what begins with a directory or README is none.
func attackPrograms(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, ending := range []string{"py", "c", "sh"} {
		for _, path := range matches("testdata/attacks/*." + ending) {
			names = append(names, filepath.Base(path))
		}
	}
	if len(names) == 0 {
		t.Fatal("there is no attack in testdata/attacks")
	}
	slices.Sort(names)
	return names
}

// attack is a program and what its head comment says.
type attack struct {
	name  string // of its file
	needs []string
	lines []headLine
}

// headLine is "control WHO: TRIES", "inside ERRNO: TRIES" or "open: TRIES".
type headLine struct {
	word, argument string
	tries          []string
}

var headPattern = regexp.MustCompile(`(?m)^[#/* ]*(item|needs|control|inside|open)(?: (\w+))?: (.+)$`)

func readAttack(t *testing.T, name string) attack {
	t.Helper()
	p := attack{name: name}
	text := readFile(t, filepath.Join("testdata", "attacks", name))
	hasItem := false
	for _, match := range headPattern.FindAllStringSubmatch(text, -1) {
		line := headLine{match[1], match[2], strings.Split(match[3], ", ")}
		switch {
		case line.word == "item":
			hasItem = true
		case line.word == "needs":
			p.needs = append(p.needs, line.tries...)
		case line.word == "control" && !slices.Contains([]string{"root", "range", "kernel", "never"}, line.argument):
			t.Fatalf("%q: a control is missing to root, range, kernel or never", match[0])
		default:
			p.lines = append(p.lines, line)
		}
	}
	if !hasItem {
		t.Fatal("the head comment has no line \"item: NUMBER\"")
	}
	return p
}

// arguments of the head's lines of the kind that name the try.
func (p attack) arguments(word, try string) (found []string) {
	for _, line := range p.lines {
		if line.word == word && slices.ContainsFunc(line.tries, func(pattern string) bool { return fits(pattern, try) }) {
			found = append(found, line.argument)
		}
	}
	return found
}

// fits: a pattern is a name, or the beginning of one and a star.
func fits(pattern, name string) bool {
	beginning, open := strings.CutSuffix(pattern, "*")
	return pattern == name || open && strings.HasPrefix(name, beginning)
}

// unknown are the errors of a kernel that lacks what was asked for.
var unknown = []string{
	"ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ENOPROTOOPT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "ENODEV", "ENOENT", "ENODATA",
	"SIGSEGV", "SIGILL",
}

// excused returns why the control of a try shows nothing here: "" if it has to.
func (p attack) excused(try, outside string) string {
	for _, who := range p.arguments("control", try) {
		switch {
		case who == "never",
			who == "root" && !theHost.root,
			who == "range" && !theHost.ranged,
			who == "kernel" && slices.Contains(unknown, outside):
			return who
		}
	}
	return ""
}

// tally counts the tries of all programs, and those whose control shows nothing here, by the reason.
type tally map[string]int

func (s tally) String() string {
	return fmt.Sprintf("%d tries, %d shown to succeed outside; not shown here: %d that only root can do, "+
		"%d that take a range of ids, %d that this kernel lacks, %d that nobody can; %d known to succeed inside",
		s["tries"], s["shown"], s["root"], s["range"], s["kernel"], s["never"], s["open"])
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
		want := p.arguments("inside", try)
		if open := len(p.arguments("open", try)) > 0; open && got == "ok" {
			sum["open"]++
		} else if open {
			t.Errorf("%s: %s inside: it is no longer open, so take it out of the head comment", try, got)
		} else if got == "ok" {
			t.Errorf("%s: it succeeded inside", try)
		} else if len(want) > 0 && !slices.Contains(want, got) {
			t.Errorf("%s: %s inside, want %s", try, got, strings.Join(want, " or "))
		}
	}
	for _, line := range p.lines {
		for _, pattern := range line.tries {
			if !slices.ContainsFunc(keys(outside), func(try string) bool { return fits(pattern, try) }) {
				t.Errorf("the head comment names %q, which is not tried", pattern)
			}
		}
	}
}

func keys(v verdicts) []string {
	return slices.Sorted(maps.Keys(v))
}

// put makes the program ready in the directory, compiled where it must be, and returns the command that
// starts it from a directory of another name.
func (p attack) put(h *house, dir string) func(there string) []string {
	h.t.Helper()
	source, ending := filepath.Join("testdata", "attacks", p.name), filepath.Ext(p.name)
	from := testdata(h.t, filepath.Join("attacks", "lib"))
	if err := os.CopyFS(filepath.Join(dir, "lib"), os.DirFS(from)); err != nil {
		h.t.Fatal(err)
	}
	name := p.name
	if ending == ".c" {
		name = strings.TrimSuffix(name, ending)
		h.compile(testdata(h.t, filepath.Join("attacks", p.name)), filepath.Join(dir, name))
	} else if err := os.WriteFile(filepath.Join(dir, name), []byte(readFile(h.t, source)), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return func(there string) []string {
		switch ending {
		case ".py":
			return []string{"/usr/bin/python3", "-B", there + "/" + name}
		case ".sh":
			return []string{"/bin/sh", there + "/" + name}
		}
		return []string{there + "/" + name}
	}
}

// compile makes a static program, which ids of a run may execute.
func (h *house) compile(source, program string) {
	h.t.Helper()
	cmd := h.command("gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source)
	if out := h.finish(cmd); out.code != 0 {
		h.t.Fatal(out.stderr)
	}
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
	flags := slices.Concat([]string{"--id", a.h.fresh()}, a.flags, []string{"--"}, a.program("/analysis"))
	r := a.h.start(append(flags, a.tell(a.within))...)
	if r.State != "complete" {
		a.h.t.Fatalf("%s inside: %s, %s: %s\n%s", p.name, r.State, r.Reason, r.Message, a.h.stderrOf(r))
	}
	v := decodeVerdicts(a.h.t, []byte(a.h.stdoutOf(r)))
	if slices.Contains(slices.Collect(maps.Values(v)), "ok") {
		a.h.t.Logf("inside it said\n%s", a.h.stderrOf(r))
	}
	return v
}

// tell is the JSON that the program is told, with what is otherwise where it runs.
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
