package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDockerHostile: dangerous options of an untrusted workflow are refused in one sentence, before anything is started or changed.
func TestDockerHostile(t *testing.T) {
	h := newHarness(t)
	h.write("in/file", "x", 0o644)
	h.write("out/file", "x", 0o644)
	h.write("linked/file", "x", 0o644)
	for link, to := range map[string]string{"linked/passwd": "/etc/passwd", "way": h.path("in")} {
		if err := os.Symlink(to, h.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	in, out := h.path("in"), h.path("out")
	for _, c := range []struct {
		word string
		line []string
	}{
		{"/etc", []string{"-v", in + ":/data/../etc:ro"}},
		{`destination "/"`, []string{"-v", in + ":/:ro"}},
		{"/etc", []string{"-v", in + ":/etc/cron.d:ro"}},
		{"/proc", []string{"-v", in + ":/proc/sys:ro"}},
		{`"/"`, []string{"-v", out + ":/", "-w", "/"}},
		{"/etc", []string{"-v", out + ":/etc", "-w", "/etc"}},
		{"/proc", []string{"-v", out + ":/proc", "-w", "/proc"}},
		{"two binds at \"/a\"", []string{"-v", in + ":/a:ro", "-v", out + ":/a:ro"}},
		{"two binds at \"/job\"", []string{"-v", in + ":/job", "-v", out + ":/job", "-w", "/job"}},
		{"two binds at \"/job\"", []string{"-v", in + ":/job/../job:ro", "-v", out + ":/job", "-w", "/job"}},
		{h.path("none"), []string{"-v", h.path("none") + ":/a:ro"}},
		{h.path("none"), []string{"-v", h.path("none") + ":/job", "-w", "/job"}},
		{in + "/file", []string{"-v", in + "/file:/job", "-w", "/job"}},
		{h.path("linked/passwd"), []string{"-v", h.path("linked") + ":/job", "-w", "/job"}},
		{h.path("linked/passwd"), []string{"-v", h.path("linked") + ":/job", "-w", "/job", "-v", in + "/file:/job/passwd:ro"}},
		{"linked/passwd", []string{"-v", out + ":/job", "-w", "/job", "-v", h.path("linked") + ":/job/in:ro"}},
		{`a\nb`, []string{"-v", in + ":/a\nb:ro"}},
		{`/a\nb`, []string{"-v", out + ":/a\nb", "-w", "/a\nb"}},
		{"give SRC:DST", []string{"-v", in}},
		{"give SRC:DST", []string{"-v", in + ":/a:ro:rw"}},
		{"give SRC:DST", []string{"-v", ":"}},
		{"absolute", []string{"-v", "../in:/a:ro"}},
		{"absolute", []string{"--mount=type=bind,source=" + in + ",target=a"}},
		{"type=volume", []string{"--mount=type=volume,source=x,target=/a"}},
		{"--mount", []string{"--mount=type=bind,source=\"" + in}},
		{"/var/run/docker.sock", []string{"-v", "/var/run/docker.sock:/var/run/docker.sock"}},
		{"--priv\\nileged", []string{"--priv\nileged"}},
		{"--memory", []string{"--memory=-1"}},
		{"pids", []string{"--pids-limit=-1"}},
		{"host", []string{"--network=host"}},
	} {
		got := h.docker(append(append([]string{"run", "--name=" + h.newID()}, c.line...), tool, "true")...)
		if got.code != 125 {
			t.Errorf("%q: %+v", c.line, got)
		}
		checkSentence(t, got.stderr, c.word)
	}
	for _, image := range []string{"-x", "--privileged", "", "../../etc", "/etc\n", "host", "engine/tool:1@sha256:0"} {
		got := h.docker("run", "--", image, "true")
		if got.code != 125 {
			t.Errorf("%q: %+v", image, got)
		}
		checkSentence(t, got.stderr, "no image")
	}
	if runs := h.mustRun("ls", "--quiet").stdout; runs != "" {
		t.Errorf("runs %q were started", runs)
	}
	if got := strings.Join(below(t, h.dir), " "); got != "config.yaml in/ in/file linked/ linked/file linked/passwd out/ out/file way" {
		t.Errorf("there is %q", got)
	}
}

// TestDockerOdd: file names with colons and newlines, an environment with newlines and 300 volumes work.
func TestDockerOdd(t *testing.T) {
	h := newHarness(t)
	args := []string{"run", "--name=" + h.newID(), "-e", "TEXT=a\nb=c", "-e", "EMPTY=", "-v", h.write("a:b/c\nd", "odd\n", 0o644) + ":/odd:1:ro"}
	for i := range 300 {
		args = append(args, "-v", h.write(fmt.Sprintf("in/%d", i), "1\n", 0o644)+fmt.Sprintf(":/many/%d:ro", i))
	}
	out := h.docker(append(args, tool, "sh", "-c", `cat /odd:1; cat /many/* | wc -l; echo "$TEXT${EMPTY-none}"`)...)
	if out.code != 0 || out.stdout != "odd\n300\na\nb=c\n" {
		t.Errorf("%+v", out)
	}
}

// TestDockerReplaced: a directory that takes the place of the output directory while the run goes on is not touched.
func TestDockerReplaced(t *testing.T) {
	h := newHarness(t)
	h.write("out/file", "x", 0o644)
	h.write("other/mine", "x", 0o644)
	cmd := h.dockerRun(h.newID(), "echo ready; read -r go; echo x >made")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.awaitLine(cmd, "ready")
	if err := os.Rename(h.path("out"), h.path("moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.path("other"), h.path("out")); err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 125 {
		t.Errorf("exit code %d", code)
	}
	if got := strings.Join(below(t, h.path("other")), " ") + strings.Join(below(t, h.path("moved")), " "); got != "minefile" {
		t.Errorf("there is %q", got)
	}
	h.mustRun("rm", strings.TrimPrefix(cmd.Args[3], "--name="))
}
