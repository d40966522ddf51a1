package e2e

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// evil is what a terminal would act on: cursor, title, clipboard, answers typed for the user, other
// character sets, 8-bit controls, reordered text.
var evil = []string{
	"\x1b[2J", "\x1b[1A", "\x1b[6n", "\x1b[c", "\x1b[?1049h", "\x1b[?1000h", "\x1b[21t", "\x1b]0;title\x07", "\x1b]52;c;eA==\x07",
	"\x1b]8;;file:///\x1b\\", "\x1bP$q\x1b\\", "\x1bc", "\x1b(0", "\x1b#8", "\x1b[5i", "\x1b_x\x1b\\", "\x1b^x\x1b\\", "\x1b[>4;2m", "\x1b[1;31",
	"\x07", "\x08", "\x0b", "\x0c", "\x0e", "\x0f", "\x05", "\x11", "\x13", "\x18", "\x1a", "\x7f", "\x00", "\x9b2J", "\u009b2J", "\u009d0;t\u009c",
	"\u202egnp", "\u2066x", "\ufeffmark\u200f", "\u2028line", "tags\U000e0041", "\x1b[38;2;1;2;3mcolour\x1b[0m", "\x1b\x1b[31m", "\x1b[\x1b[2J", "\xe2\x1b[2J",
}

// harmless is what may come to a terminal: colours, and the erasing of scidex-oci's own status line.
var harmless = regexp.MustCompile("\x1b\\[[0-9;]*m|\r\x1b\\[K|\r+\n")

// checkShown fails if the text makes a terminal do something. A carriage return stays in its line.
func checkShown(t *testing.T, what, shown string) {
	t.Helper()
	text := strings.ReplaceAll(harmless.ReplaceAllString(shown, ""), "\r", "")
	text = strings.ReplaceAll(text, "\t", "")
	if i := strings.IndexFunc(text, acts); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("%s: a terminal would act on %q", what, text[max(i-10, 0):min(max(i, 0)+30, len(text))])
	}
}

// TestTerminalIsLeftAlone shows everything that an analysis or its request can name on a terminal.
func TestTerminalIsLeftAlone(t *testing.T) {
	h := newHarness(t)
	all := strings.Join(evil, " ")
	h.write("all", all, 0o644)
	raw := h.onTerminal("/bin/cat", "all")
	if left := harmless.ReplaceAllString(raw.stdout, ""); strings.Count(left, "\x1b") < 10 {
		t.Fatalf("control: the terminal shows %q", left)
	}
	h.write("evil.py", `
import os, socket, sys
evil = [part.encode("utf-8", "surrogateescape") for part in open("/inputs/all", newline="", errors="surrogateescape", encoding="utf-8").read().split(" ")]
for stream in sys.stdout.buffer, sys.stderr.buffer:
    for part in evil:
        stream.write(b"<" + part + b">\n")
        stream.flush()
for number, part in enumerate(evil):
    part = part.replace(b"/", b"|").replace(b"\0", b"")
    with open(b"%d" % number + part, "wb") as f:
        f.write(part)
    os.symlink(part or b"x", b"link%d" % number + part)
    for address in part + b"/socket", b"\0" + part:
        try:
            socket.socket(socket.AF_UNIX).connect(address)
        except OSError:
            pass
sys.stdout.write("\x1b[8mconcealed")
`, 0o644)
	id := h.id("t")
	out := h.onTerminal(theHost.bin, "run", "--id", id, "--input", h.path("all"), "--output", "missing*", "--script", "evil.py")
	checkShown(t, "run", out.stdout)
	if out.code != 1 {
		t.Fatalf("exit code %d: %s", out.code, out.stdout)
	}
	if r := h.show(id); r.Reason != "output_missing" || len(r.Outputs) != len(evil) {
		t.Errorf("the attack was not made: %s, %d outputs: %s\n%s", r.Reason, len(r.Outputs), out.stdout, h.stderrOf(r))
	}
	_, after, found := strings.Cut(out.stdout, "concealed")
	rest, ours, shown := strings.Cut(after, "\x1b[0m") // rest is what standard error may have yet
	if !found || !shown || strings.Contains(rest, id) || !strings.Contains(ours, id) {
		t.Errorf("what comes after the analysis' output is still concealed: %q", after[:min(len(after), 300)])
	}
	for _, args := range [][]string{
		{"show", id},
		{"ls"},
		{"logs", id},
		{"outputs", "ls", id},
		{"outputs", "cat", id, "0" + evil[0]},
		{"outputs", "find", "*"},
		{"show", evil[0]},
		{"outputs", "cat", id, evil[7]},
		{evil[7]},
		{"run", evil[0]},
		{"run", "--id", evil[7], "--", "true"},
		{"run", "--data", evil[7], "--", "true"},
		{"run", "--script", evil[7]},
		{"run", "--" + evil[0], "true"},
		{"run", "--label", "k=" + evil[7], "true"},
		{"run", "--label", "k=\u202egnp", "true"},
		{"run", "--id", h.id("n"), "--", evil[7]},
		{"run", "--memory", evil[7], "true"},
		{"run", "-f", h.write("m.yaml", "x"+evil[1]+": 1", 0o644)},
		{"--db", "postgres://" + evil[0], "ls"},
		{"--root", h.path(evil[7]), "ls"},
		{"ls", "--label", evil[7]},
		{"ls", "--since", evil[7]},
	} {
		checkShown(t, strings.Join(args, " "), h.onTerminal(theHost.bin, args...).stdout)
	}
}
