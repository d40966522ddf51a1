package admission

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"golang.org/x/sys/unix"
)

// hang is the time after which a test fails that waits for something.
const hang = 2 * time.Minute

// machine is that of the tests.
var machine = Resources{Memory: 10, CPUs: 2}

// childEnv names the file of an account for which the test's own program is the other engine.
const childEnv = "SCIDEX_OCI_TEST_ACCOUNT"

// TestMain is another engine, which takes six bytes and a processor and keeps them, where it is asked to be that.
func TestMain(m *testing.M) {
	path := os.Getenv(childEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	a, err := OpenAccount(path, Resources{})
	if err != nil {
		panic(err)
	}
	if _, ok := a.Take(Resources{Memory: 6, CPUs: 1}, false); !ok {
		panic("there is no room")
	}
	_, _ = os.Stdout.WriteString("taken\n")
	time.Sleep(time.Hour) // select {} is a deadlock to the runtime, which ends the process
}

func openAccount(t *testing.T, path string) *Account {
	t.Helper()
	a, err := OpenAccount(path, machine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// fits takes and gives back.
func fits(a *Account, d Resources, alone bool) bool {
	release, ok := a.Take(d, alone)
	if ok {
		release()
	}
	a.Yield()
	return ok
}

// TestAccount: two engines have one machine; memory is granted once, also in parts, and processors to all but an engine's only analysis.
func TestAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engines")
	a := openAccount(t, path)
	b, err := OpenAccount(path, Resources{Memory: 1 << 40, CPUs: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Memory != machine.Memory || b.CPUs != machine.CPUs {
		t.Errorf("the second engine has %d bytes and %v CPUs", b.Memory, b.CPUs)
	}
	var releases []func()
	for i, from := range []*Account{a, b, a, b} {
		release, ok := from.Take(Resources{Memory: 2, CPUs: 0.5}, false)
		if !ok {
			t.Fatalf("there is no room for number %d", i)
		}
		releases = append(releases, release)
	}
	for _, c := range []struct {
		d     Resources
		alone bool
		want  bool
	}{
		{Resources{Memory: 2, CPUs: 0.1}, false, false},
		{Resources{Memory: 2, CPUs: 0.1}, true, true},
		{Resources{Memory: 3, CPUs: 0.1}, true, false},
		{Resources{Memory: 2}, false, true},
	} {
		if got := fits(b, c.d, c.alone); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	releases[0]()
	releases[2]()
	if !fits(b, Resources{Memory: 6, CPUs: 1}, false) {
		t.Error("what two parts of it are free for does not fit")
	}
	if fits(b, Resources{Memory: 100, CPUs: 64}, true) {
		t.Error("one that is larger than the machine has company")
	}
	releases[1]()
	releases[3]()
	if !fits(b, Resources{Memory: 100, CPUs: 64}, false) {
		t.Error("one that is larger than the machine never runs")
	}
}

// TestAccountOrder: a large analysis of one engine is not overtaken by small ones of another, unless its engine stands still.
func TestAccountOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engines")
	a, b := openAccount(t, path), openAccount(t, path)
	release, _ := b.Take(Resources{Memory: 6}, false)
	if _, ok := a.Take(Resources{Memory: 9}, true); ok {
		t.Fatal("15 of 10 bytes")
	}
	tried := func(ago time.Duration) {
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	tried(-time.Hour)
	if fits(b, Resources{Memory: 1}, false) {
		t.Error("a small one overtakes")
	}
	tried(time.Hour)
	if !fits(b, Resources{Memory: 1}, false) {
		t.Error("an engine that stands still holds the others up")
	}
	release()
	if !fits(a, Resources{Memory: 9}, true) || !fits(b, Resources{Memory: 1}, false) {
		t.Error("the front is not left")
	}
}

// TestAccountKilled: the kernel drops what a killed engine had, and the figures are measured again when no engine is left.
func TestAccountKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engines")
	a := openAccount(t, path)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()         //nolint:errcheck // it is killed
	defer cmd.Process.Kill() //nolint:errcheck // it may have been
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "taken\n" {
		t.Fatalf("%q, %v", line, err)
	}
	large := Resources{Memory: 5, CPUs: 1.5}
	if fits(a, large, true) {
		t.Error("11 of 10 bytes")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	slots := New(Options{Account: a, Retry: func() {}})
	if err := slots.Queue(large).Wait(t.Context()); err != nil {
		t.Error(err)
	}
	a.Close()
	later, err := OpenAccount(path, Resources{Memory: 7, CPUs: 1})
	if err != nil || later.Memory != 7 {
		t.Fatalf("%+v, %v", later, err)
	}
	later.Close()
}

// TestSlotsOfAnAccount: those of two engines come one after the other; what one engine leaves, the other notices.
func TestSlotsOfAnAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engines")
	retried := make(chan struct{}, 1)
	retry := func() {
		select {
		case retried <- struct{}{}:
		default:
		}
	}
	a := New(Options{Account: openAccount(t, path), Retry: func() {}})
	b := New(Options{Account: openAccount(t, path), Retry: retry})
	large := Resources{Memory: 6, CPUs: 1}
	first := a.Start(large)
	if first == nil || b.Start(large) != nil || b.waiting() != 0 {
		t.Fatal("12 of 10 bytes")
	}
	select {
	case <-retried:
	case <-time.After(hang):
		t.Fatal("it is not asked again")
	}
	var both sync.WaitGroup
	for _, slot := range []*Slot{b.Queue(large), a.Queue(large)} {
		both.Go(func() {
			if err := slot.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			slot.Release()
		})
	}
	first.Release()
	both.Wait()
	waits := a.Start(large)
	canceled := b.Queue(large)
	if b.waiting() != 1 {
		t.Error("12 of 10 bytes")
	}
	canceled.Release()
	for deadline := time.Now().Add(hang); ; time.Sleep(again) {
		if slot := a.Start(Resources{Memory: 1}); slot != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what nothing waits for is held")
		}
	}
	waits.Release()
}

// TestAccountRefused: a file that another could have made is not used.
func TestAccountRefused(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(path("open"), nil, 0o644), os.Symlink(path("open"), path("link")), unix.Mkfifo(path("fifo"), 0o600), os.WriteFile(path("text"), []byte("text"), 0o600),
		os.WriteFile(path("words"), bytes.Repeat([]byte("word "), 10), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"text", "words"} { // another engine lives
		f, err := os.Open(path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := flock.LockRange(f, unix.F_OFD_SETLK, unix.F_RDLCK, alive); err != nil {
			t.Fatal(err)
		}
	}
	refused := map[string]string{"open": "others may use it", "fifo": "no regular file", "link": "symbolic", "text": "remove it", "words": "remove it", "none/x": "no such"}
	if os.Geteuid() == 0 { // no one else may give a file away
		if err := errors.Join(os.WriteFile(path("another's"), nil, 0o600), os.Chown(path("another's"), 1, -1)); err != nil {
			t.Fatal(err)
		}
		refused["another's"] = "does not belong"
	}
	for name, want := range refused {
		if _, err := OpenAccount(path(name), machine); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
