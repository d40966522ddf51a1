package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// build is a call of scripts/build-rootfs with a directory for temporary files and one for the image.
type build struct {
	h         *harness
	cmd       *exec.Cmd
	temporary string
	image     string
	said      bytes.Buffer // to standard error
}

// recipe prepares a build. Nothing limits how long it takes but the test itself.
func (h *harness) recipe(args ...string) *build {
	h.t.Helper()
	script, err := filepath.Abs("../../scripts/build-rootfs")
	if err != nil {
		h.t.Fatal(err)
	}
	top := h.t.TempDir()
	b := &build{h: h, temporary: filepath.Join(top, "tmp"), image: filepath.Join(top, "made", "python.oci.tar")}
	if err := os.Chmod(filepath.Dir(top), 0o755); err != nil { // the ids of a range go through it
		h.t.Fatal(err)
	}
	for _, dir := range []string{b.temporary, filepath.Dir(b.image)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	if len(args) == 0 {
		args = []string{"--json", "python", b.image}
	}
	b.cmd = exec.CommandContext(h.t.Context(), script, args...)
	b.cmd.Dir, b.cmd.Stderr = h.dir, &b.said
	b.cmd.Env = append(slices.Clone(h.env), "TMPDIR="+b.temporary)
	return b
}

// through replaces apt's configuration by one in which the build reaches only a proxy.
func (b *build) through(proxy string) *build {
	config := b.h.write("apt.conf", fmt.Sprintf("Dir::Etc::Main \"/dev/null\";\nDir::Etc::Parts \"/dev/null\";\nDir::State::lists \"/dev/null\";\n"+
		"Acquire::http::Proxy \"http://%s\";\n", proxy), 0o644)
	b.cmd.Env = append(b.cmd.Env, "APT_CONFIG="+config)
	return b
}

// refuses runs the build, which must fail with one sentence that has the words, and leave nothing.
func (b *build) refuses(t *testing.T, words ...string) {
	t.Helper()
	err := b.cmd.Run()
	lines := strings.Split(strings.TrimSpace(b.said.String()), "\n")
	last := lines[len(lines)-1]
	if b.cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(last, "build-rootfs: ") {
		t.Fatalf("%v: %s", err, b.said.String())
	}
	for _, word := range words {
		if !strings.Contains(last, word) {
			t.Errorf("no %q in %q", word, last)
		}
	}
	if left := b.left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// left is everything of a build but its image. A killed process has no command line while it ends.
func (b *build) left() []string {
	top := filepath.Dir(b.temporary)
	left := processes(func(p process) bool {
		if len(p.command) == 0 {
			return false
		}
		return bytes.Contains(p.environ, []byte(top)) || bytes.Contains(p.command, []byte(top)) || p.parent == os.Getpid()
	})
	left = append(left, mountsOf(top)...)
	for _, dir := range []string{b.temporary, filepath.Dir(b.image)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			left = append(left, err.Error())
		}
		for _, entry := range entries {
			left = append(left, filepath.Join(dir, entry.Name()))
		}
	}
	return left
}

// mayBuild is whether this user can build at all; others get an error before anything is done.
func mayBuild() bool { return theHost.root || theHost.ranged }

// TestRecipeRefused: an image that cannot be built is refused in one sentence, and nothing is left of it.
func TestRecipeRefused(t *testing.T) {
	h := newHarness(t)
	kept := h.write("kept.oci.tar", "an image", 0o644)
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"no such recipe":   {[]string{"nope"}, []string{"no root filesystem nope", "scientific or python"}},
		"a path":           {[]string{"../rootfs/python"}, []string{"no root filesystem ../rootfs/python"}},
		"too many words":   {[]string{"python", "a", "b"}, []string{"the file to write"}},
		"no directory":     {[]string{"python", "/nowhere/x"}, []string{"no directory /nowhere"}},
		"a directory":      {[]string{"python", h.dir}, []string{h.dir + " is a directory"}},
		"nothing writable": {[]string{"python", "/proc/x"}, []string{"/proc"}},
		"no network":       {[]string{"python", kept}, []string{"Debian's archive cannot be reached"}},
	} {
		t.Run(name, func(t *testing.T) {
			closed, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			proxy := closed.Addr().String()
			closed.Close()
			words := c.words
			if (name == "no network" || name == "nothing writable") && !mayBuild() {
				words = []string{"/etc/subuid", "usermod --add-subuids", "let root build it"}
			}
			h.in(t).recipe(c.args...).through(proxy).refuses(t, words...)
		})
	}
	t.Run("out of the range's reach", func(t *testing.T) {
		b := h.in(t).recipe()
		if err := os.Chmod(filepath.Dir(b.temporary), 0o700); err != nil {
			t.Fatal(err)
		}
		switch {
		case theHost.root:
			t.Skip("root builds with ids that go everywhere")
		case theHost.ranged:
			b.refuses(t, "cannot reach", "TMPDIR")
		default:
			b.refuses(t, "/etc/subuid")
		}
	})
	if got := readFile(t, kept); got != "an image" {
		t.Errorf("the image that was there is %q", got)
	}
}

// archive is a proxy that reports each request and leaves the answer to a function.
func archive(t *testing.T, answer func(client net.Conn)) (address string, asked <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	requests := make(chan struct{}, 100)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				_, _ = bufio.NewReader(client).ReadString('\n')
				requests <- struct{}{}
				answer(client)
			}()
		}
	}()
	return listener.Addr().String(), requests
}

// flood is an answer without an end.
func flood(client net.Conn) {
	_, err := client.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"))
	for block := make([]byte, 64<<10); err == nil; {
		_, err = client.Write(block)
	}
}

// silence is an answer that does not come.
func silence(client net.Conn) { _, _ = io.Copy(io.Discard, client) }

// TestRecipeFullDisk builds on a file system that is almost full.
func TestRecipeFullDisk(t *testing.T) {
	if !theHost.root {
		t.Skip("only root makes the small file system that this is about")
	}
	h := newHarness(t)
	proxy, _ := archive(t, flood)
	b := h.recipe().through(proxy)
	if err := unix.Mount("tmpfs", b.temporary, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(b.temporary, 0); err != nil {
			t.Error(err)
		}
	}()
	err := b.cmd.Run()
	if last := b.said.String(); b.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(last, "build-rootfs: the disk is full") {
		t.Errorf("%v: %s", err, last)
	}
	if left := append(matches(b.temporary+"/*"), matches(filepath.Dir(b.image)+"/*")...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// stops are the ways in which a build is stopped: its own process or, as by a terminal, its process group.
var stops = []struct {
	signal syscall.Signal
	group  bool
	code   int
}{
	{syscall.SIGINT, true, 130},
	{syscall.SIGTERM, false, 143},
	{syscall.SIGHUP, true, 129},
	{syscall.SIGKILL, false, -1},
	{syscall.SIGKILL, true, -1},
}

// TestRecipeStopped ends a build while it waits for Debian's archive, or, if SCIDEX_OCI_SOAK is set, at each of its
// steps with the real one: whatever the signal, nothing of it stays.
func TestRecipeStopped(t *testing.T) {
	if !mayBuild() {
		t.Skip("a user with one id builds nothing that could be stopped: TestRecipeRefused")
	}
	moments := []string{""}
	if inSoak() {
		moments = append(moments, "extracting archives...", "installing essential packages...",
			"installing remaining packages inside the chroot...", "creating tarball...", "writing ")
	}
	for _, moment := range moments {
		for _, stop := range stops {
			t.Run(fmt.Sprint(moment, stop.signal, stop.group), func(t *testing.T) {
				b := newHarness(t).recipe()
				if moment == "" {
					b.waiting(t)
				} else {
					b.reaching(t, moment)
				}
				if len(b.left()) < 3 {
					t.Fatalf("there is only %q", b.left())
				}
				to := b.cmd.Process.Pid
				if stop.group {
					to = -to
				}
				if err := syscall.Kill(to, stop.signal); err != nil {
					t.Fatal(err)
				}
				_ = b.cmd.Wait()
				if code := b.cmd.ProcessState.ExitCode(); code != stop.code {
					t.Errorf("exit code %d, want %d: %s", code, stop.code, b.said.String())
				}
				// apt's own children end with its pipe, which takes them a moment.
				if left := eventually(b.left); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// waiting starts the build and returns when it requests something that it will not get.
func (b *build) waiting(t *testing.T) {
	t.Helper()
	proxy, asked := archive(t, silence)
	lines := b.through(proxy).start(t)
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, lines); close(ended) }()
	select {
	case <-asked:
	case <-ended:
		t.Fatalf("it asked for nothing: %v, %s", b.cmd.Wait(), b.said.String())
	}
}

// reaching starts the build and returns when its lines of JSON report a step.
func (b *build) reaching(t *testing.T, step string) {
	t.Helper()
	for scanner := bufio.NewScanner(b.start(t)); scanner.Scan(); {
		if strings.Contains(scanner.Text(), `"step":"`+step) {
			return
		}
	}
	_ = b.cmd.Wait()
	t.Fatalf("it ended before %q: %s", step, b.said.String())
}

// start starts the build, whose lines of JSON it returns.
func (b *build) start(t *testing.T) io.Reader {
	t.Helper()
	lines, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.cmd.WaitDelay = 30 * time.Second // for what outlives it and has its standard error
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestRecipeRepeats builds each image twice, from scratch and in different directories: the same packages give the same
// bytes.
func TestRecipeRepeats(t *testing.T) {
	if !inSoak() {
		t.Skip("downloads and builds for some minutes: scripts/soak TestRecipeRepeats")
	}
	if !mayBuild() {
		t.Skip("a user with one id builds nothing: TestRecipeRefused")
	}
	for _, name := range []string{"python", "scientific"} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			var images, lists []string
			for range 2 {
				b := h.recipe()
				file := filepath.Join(filepath.Dir(b.image), name+".oci.tar")
				b.cmd.Args = []string{b.cmd.Path, name, file}
				if err := b.cmd.Run(); err != nil {
					t.Fatalf("%v: %s", err, b.said.String())
				}
				images, lists = append(images, digestOfFile(t, file)), append(lists, digestOfFile(t, strings.TrimSuffix(file, ".oci.tar")+".spdx.json"))
				if left := matches(b.temporary + "/*"); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			}
			if images[0] != images[1] || lists[0] != lists[1] {
				t.Errorf("the images are %q, the package lists %q", images, lists)
			}
		})
	}
}

func digestOfFile(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "sha256sum", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))[0]
}
