package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check/attacks"
)

// attackPrograms lists the programs: directories and the README are none.
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

// headLine is "control WHO: TRIES", "inside ERRNO|ATTACK: TRIES" or "open: TRIES".
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
		case line.word == "inside" && line.argument != strings.ToUpper(line.argument) && attacks.Answers(line.argument) == nil:
			t.Fatalf("%q: no attack of runner/check/attacks has this name", match[0])
		case line.word == "control" && !slices.Contains([]string{"root", "range", "kernel", "caller", "never"}, line.argument):
			t.Fatalf("%q: a control can be left to root, range, kernel, caller or never", match[0])
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

// wanted are the errors that a try must get inside, any if there are none.
func (p attack) wanted(try string) (found []string) {
	for _, argument := range p.arguments("inside", try) {
		if answers := attacks.Answers(argument); answers != nil {
			found = append(found, answers...)
		} else {
			found = append(found, argument)
		}
	}
	return found
}

// fits: a pattern is a name, or the beginning of one and a star.
func fits(pattern, name string) bool {
	beginning, open := strings.CutSuffix(pattern, "*")
	return pattern == name || open && strings.HasPrefix(name, beginning)
}

// put copies or compiles the program into the directory, and returns the command that starts it from a directory of
// another name.
func (p attack) put(h *harness, dir string) func(there string) []string {
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
func (h *harness) compile(source, program string) {
	h.t.Helper()
	cmd := h.command("gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source)
	if out := h.finish(cmd); out.code != 0 {
		h.t.Fatal(out.stderr)
	}
}
