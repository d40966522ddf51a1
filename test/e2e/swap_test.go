package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Attacks that exchange a path for another one between its check and its use. The secret is in a directory that the
// check refuses: it has a FIFO, or is in the root. Outside, a program that checks before it opens loses against each
// attack.

// swaps is how many runs each attack tries.
const swaps = 30

// swapper changes what a path leads to, again and again.
type swapper struct {
	rounds atomic.Int64
	stop   chan struct{}
	ended  chan error
}

// swap calls change again and again until the test ends; change alternates between two states.
func swap(t *testing.T, change func(round int) error) *swapper {
	t.Helper()
	s := &swapper{stop: make(chan struct{}), ended: make(chan error, 1)}
	go func() {
		for round := 0; ; round++ {
			select {
			case <-s.stop:
				s.ended <- nil
				return
			default:
			}
			if err := change(round); err != nil {
				s.ended <- err
				return
			}
			s.rounds.Add(1)
			time.Sleep(time.Duration(round%7) * 300 * time.Microsecond) // each side for a while, of any length
		}
	}()
	return s
}

func (s *swapper) end(t *testing.T) {
	t.Helper()
	close(s.stop)
	if err := <-s.ended; err != nil {
		t.Errorf("the attack came to an end: %v", err)
	}
	if s.rounds.Load() < swaps {
		t.Errorf("only %d changes: that is no attack", s.rounds.Load())
	}
}

// exchange swaps two names at once (renameat2(2)).
func exchange(a, b string) func(int) error {
	return func(int) error { return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) }
}

// relink makes a symbolic link lead to the one and to the other.
func relink(link, one, other string) func(int) error {
	return func(round int) error {
		target := one
		if round%2 == 1 {
			target = other
		}
		if err := os.Symlink(target, link+".new"); err != nil {
			return err
		}
		return os.Rename(link+".new", link)
	}
}

// loses is the control: a program that checks a path by refused, then reads file through it, gets the
// secret. It tries until it has.
func loses(t *testing.T, refused func() bool, file, secret string) {
	t.Helper()
	until(t, time.Minute, "a check before the use loses", func() bool {
		if refused() {
			return false
		}
		time.Sleep(200 * time.Microsecond)
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), secret)
	})
}

// attack runs the arguments again and again while somebody swaps. Each run has the harmless files or is refused; none
// has the secret in an output or a log.
func (h *harness) attack(secret string, args func(id string) []string) {
	h.t.Helper()
	had, refused := 0, map[string]int{}
	for range swaps {
		id := h.newID()
		r := h.start(append([]string{"--id", id}, args(id)...)...)
		switch {
		case r.State == "complete" && h.stdoutOf(r) == "harmless\n":
			had++
		case r.State == "error" && (r.Reason == "request" || r.Reason == "sandbox"):
			refused[strings.ReplaceAll(r.Message, id, "ID")]++
		default:
			h.t.Errorf("%s, %s: %s: %q", r.State, r.Reason, r.Message, h.stdoutOf(r))
		}
	}
	h.t.Logf("%d runs had what is harmless, %d were refused: %v", had, swaps-had, refused)
	err := filepath.WalkDir(filepath.Join(h.root, "blobs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(readFile(h.t, path), secret) {
			h.t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// pair makes a harmless tree and a decoy with the secret and a FIFO, at path below each.
func (h *harness) pair(path, secret string) (harmless, decoy string) {
	h.t.Helper()
	h.write(filepath.Join("harmless", path, "file"), "harmless\n", 0o644)
	h.write(filepath.Join("decoy", path, "file"), secret, 0o644)
	if err := unix.Mkfifo(h.path(filepath.Join("decoy", path, "fifo")), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return h.path("harmless"), h.path("decoy")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestSwappedDirectories(t *testing.T) {
	for name, path := range map[string]string{"the directory": "", "its parent": "in/it"} {
		bind := map[string]string{"": "--data=", "in/it": "--input="}[path]
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			secret := h.id("secret")
			harmless, decoy := h.pair(path, secret)
			s := swap(t, exchange(harmless, decoy))
			defer s.end(t)
			data := filepath.Join(harmless, path)
			loses(t, func() bool { return exists(data + "/fifo") }, data+"/file", secret)
			h.attack(secret, func(string) []string {
				return flags(bind+data, "--", "sh", "-c", "cat /data/file /inputs/it/file 2>/dev/null || :")
			})
		})
	}
}

// TestSwappedLinks changes what a link leads to: a directory, or one in the root, which is out of bounds.
func TestSwappedLinks(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls")
	secret := h.id("secret")
	h.write("harmless/file", "harmless\n", 0o644)
	h.write("harmless/s.sh", "cat \"$0\" >kept; echo harmless", 0o644)
	private := filepath.Join(h.root, "private")
	if err := os.Mkdir(private, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, private+"/file", secret, 0o644)
	writeFile(t, private+"/s.sh", "echo "+secret, 0o644)
	link := h.path("link")
	change := relink(link, h.path("harmless"), private)
	if err := change(0); err != nil {
		t.Fatal(err)
	}
	s := swap(t, change)
	defer s.end(t)
	loses(t, func() bool {
		target, err := os.Readlink(link)
		return err != nil || target == private
	}, link+"/file", secret)
	h.attack(secret, func(string) []string { return flags("--data", "link", "--", "cat", "/data/file") })
	h.attack(secret, func(string) []string { return flags("--stage", "link", "--", "cat", "file") })
	h.attack(secret, func(string) []string { return flags("--script", "link/s.sh") })
	h.attack(secret, func(string) []string { return flags("--project", "link", "--script", "link/s.sh") })
}

// TestSwappedScript exchanges one script for another, both of which may run: the kept script is the one that ran.
func TestSwappedScript(t *testing.T) {
	h := newHarness(t)
	for name, body := range map[string]string{"a.sh": "echo one", "b.sh": "echo other"} {
		h.write(name, "cat \"$0\"\n"+body+"\n", 0o644)
		h.write("project/"+name, "cat \"$0\"\n"+body+"\n", 0o644)
	}
	for _, dir := range []string{"", "project"} {
		s := swap(t, exchange(h.path(dir+"/a.sh"), h.path(dir+"/b.sh")))
		ran := map[string]int{}
		for range swaps {
			args := flags("--id", h.newID(), "--script", filepath.Join(dir, "a.sh"))
			if dir != "" {
				args = append(args, "--project", dir)
			}
			r := h.start(args...)
			if r.State != "complete" {
				ran[r.Message]++
				continue
			}
			out := h.stdoutOf(r)
			if kept := h.blob(r.Script.SHA256); dir == "" && !strings.HasPrefix(out, kept) {
				t.Errorf("kept %q, which printed %q", kept, out)
			}
			ran[out]++
		}
		s.end(t)
		t.Logf("in %q: %v", dir, ran)
	}
}

// TestSwappedBase exchanges the directory in which working directories are made for one in which each exists already,
// with the secret in it.
func TestSwappedBase(t *testing.T) {
	h := newHarness(t)
	secret := h.id("secret")
	base, decoy := h.path("base"), h.path("decoy")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	h.write("decoy/scidex-analysis-control/work/secret", secret, 0o644)
	planted, err := os.OpenRoot(decoy) // wherever it is by then
	if err != nil {
		t.Fatal(err)
	}
	defer planted.Close()
	h.setenv("SCIDEX_OCI_TMP", base)
	s := swap(t, exchange(base, decoy))
	loses(t, func() bool { return exists(base + "/scidex-analysis-control") }, base+"/scidex-analysis-control/work/secret", secret)
	h.attack(secret, func(id string) []string {
		work := "scidex-analysis-" + id + "/work"
		if err := errors.Join(planted.MkdirAll(work, 0o755), planted.WriteFile(work+"/secret", []byte(secret), 0o644)); err != nil {
			t.Fatal(err)
		}
		return flags("--", "sh", "-c", "echo harmless; cat /work/secret 2>/dev/null || :")
	})
	h.gc()
	s.end(t)
	if !exists(decoy + "/scidex-analysis-control") {
		base, decoy = decoy, base
	}
	if left := matches(base + "/*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	for _, dir := range matches(decoy + "/*") {
		if got := readFile(t, dir+"/work/secret"); got != secret {
			t.Errorf("%s holds %q now", dir, got)
		}
	}
}
