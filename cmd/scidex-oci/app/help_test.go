package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/manual"
	"github.com/scidex-ai/scidex-oci/spec"
)

// pages are those of the program and of all its commands.
func pages() []manual.Page {
	app := newApp(wholeProgram())
	main := mainPage(app)
	main.Commands = entries(app.Commands)
	all := []manual.Page{main}
	for _, l := range leaves(app.Commands) {
		all = append(all, commandPage(l.path, l.command))
	}
	return all
}

// No line is longer than the terminal but a word that is, and all words are whole.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, page := range pages() {
		whole := strings.Fields(page.Help(100_000))
		for _, width := range []int{40, 80, 200} {
			help := page.Help(width)
			for line := range strings.Lines(help) {
				words := strings.Fields(strings.TrimSuffix(strings.TrimRight(line, "\n"), ` \`))
				if length := len([]rune(strings.TrimRight(line, "\n"))); length > width && len(words) > 1 {
					t.Errorf("%s: %d columns at a width of %d: %q", page.Name, length, width, line)
				}
			}
			words := slices.DeleteFunc(strings.Fields(help), func(word string) bool { return word == `\` })
			if !slices.Equal(words, whole) {
				t.Errorf("%s: other words at a width of %d", page.Name, width)
			}
		}
	}
}

// A command of which more than one thing can be asked has more than one example.
func TestCommandsHaveExamples(t *testing.T) {
	app := newApp(wholeProgram())
	least := map[string]int{}
	for _, l := range leaves(app.Commands) {
		if path := strings.Join(l.path, " "); l.command.ArgsUsage != "" || strings.Contains(l.command.UsageText, "ARG") {
			least[path] = 1
		}
	}
	for _, path := range []string{"", "run", "batch", "outputs", "show", "ls", "replay", "gc", "logs", "report", "doctor"} {
		least[path] = 2
	}
	for path, n := range least {
		if got := len(manual.Examples()[path]); got < n || got > 3 {
			t.Errorf("%q has %d examples, want %d to 3", path, got, n)
		}
	}
	for _, page := range pages() {
		if help := page.Help(noTerminal); len(page.Examples) > 0 && !strings.HasPrefix(strings.SplitN(help, "\n\n", 2)[1], "EXAMPLES\n") {
			t.Errorf("the help of %s begins without its examples", page.Name)
		}
	}
}

func TestExamplesAreCommandLines(t *testing.T) {
	app := newApp(wholeProgram())
	for path, all := range manual.Examples() {
		if path != "" && !slices.ContainsFunc(leaves(app.Commands), func(l leaf) bool { return strings.Join(l.path, " ") == path }) {
			t.Errorf("there is no command %q", path)
		}
		for _, e := range all {
			_, line, ours := strings.Cut(" "+strings.TrimPrefix(e.Line, "source <("), " scidex-oci ")
			if !ours {
				t.Errorf("%q: %s", path, e.Line)
				continue
			}
			if _, err := command.Arrange(newApp(wholeProgram()), strings.Fields(line)); err != nil {
				t.Errorf("%q: %s: %v", path, e.Line, err)
			}
		}
	}
}

func TestFlagsOfRunAreGrouped(t *testing.T) {
	app := newApp(wholeProgram())
	for _, l := range leaves(app.Commands) {
		if l.command.Name != "run" {
			continue
		}
		var names []string
		for _, g := range commandPage(l.path, l.command).Flags {
			names = append(names, g.Name)
		}
		if !slices.Equal(names, spec.Groups()) {
			t.Errorf("groups %q, want %q", names, spec.Groups())
		}
	}
	_, stdout, _ := runProgram(t, "run", "--help")
	for _, want := range []string{"\nINPUTS\n  --data DIR ", "\nPROGRAM\n  --script FILE ", "\nLIMITS\n", "\nOUTPUTS\n  --export DIR", "\nRUNNING\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in %s", want, stdout)
		}
	}
}

func TestHelpIsAsWideAsTheTerminal(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	for set, want := range map[uint16]int{40: 40, 200: 200, 0: noTerminal} {
		if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: set}); err != nil {
			t.Fatal(err)
		}
		if got := columns(terminal); got != want {
			t.Errorf("%d columns, want %d", got, want)
		}
	}
	if got := columns(file(t, filepath.Join(t.TempDir(), "file"))); got != noTerminal {
		t.Errorf("a file has %d columns", got)
	}
}
