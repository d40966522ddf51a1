package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
)

func TestMain(m *testing.M) {
	Main(tries)
	os.Exit(m.Run())
}

func tries() []Check {
	advice := func(err error) remedies.Remedy {
		if errors.Is(err, unix.EPERM) {
			return remedies.Remedy{Sentence: "permit it", Command: "permit"}
		}
		return remedies.Remedy{Sentence: "look", Command: "see"}
	}
	do := func(name string, do func() (string, error)) Check {
		return Check{Name: name, Try: &Try{Do: do}, Works: "it works", Fails: "it fails", Advice: advice}
	}
	return []Check{
		do("good", func() (string, error) { return "seen", nil }),
		do("refused", func() (string, error) { return "", &os.PathError{Op: "mount", Path: "/x", Err: unix.EPERM} }),
		do("dies", func() (string, error) { println("the reason\nmore"); os.Exit(3); return "", nil }),
		do("hangs", func() (string, error) { time.Sleep(time.Hour); return "", nil }),
	}
}

// A check gives one finding, which has what the check says of success and failure. One that needs a failed check is skipped
// after that, and so is what needs the skipped one.
func TestCheck(t *testing.T) {
	all := tries()
	done := func(context.Context) Finding { return Finding{Status: Pass, Seen: "done", Control: "reached"} }
	checks := []Check{
		all[0], all[1], all[2],
		{Name: "after", Needs: []string{"good", "refused"}, Do: done},
		{Name: "after that", Needs: []string{"after"}, Do: done},
		{Name: "done", Target: "here", Needs: []string{"good"}, Do: done},
		{Name: "needless", Do: func(context.Context) Finding { return NotNeeded("why") }},
		{Name: "not after that", Needs: []string{"needless"}, Works: "well", Do: func(context.Context) Finding { return Finding{Seen: "x"} }},
	}
	var passed []Finding
	c := Checker{Each: func(f Finding) { passed = append(passed, f) }}
	if err := c.Check(t.Context(), checks...); err != nil {
		t.Fatal(err)
	}
	want := []Finding{
		{Name: "good", Status: OK, Seen: "seen", Means: "it works"},
		{Name: "refused", Status: Fail, Seen: "mount /x: operation not permitted", Means: "it fails", Cure: "permit it", Command: "permit"},
		{Name: "dies", Status: Fail, Seen: "a process that tried it ended: exit status 3: the reason", Means: "it fails", Cure: "look", Command: "see"},
		{Name: "after", Status: Skipped, Seen: "not tried", Means: "nothing is known", After: "refused"},
		{Name: "after that", Status: Skipped, Seen: "not tried", Means: "nothing is known", After: "refused"},
		{Name: "done", Target: "here", Status: Pass, Seen: "done", Control: "reached"},
		{Name: "needless", Status: Skipped, Seen: "why", Means: "runs do without"},
		{Name: "not after that", Status: OK, Seen: "x", Means: "well"},
	}
	if !slices.Equal(c.Findings, want) || !slices.Equal(passed, want) {
		t.Errorf("%+v\nwant %+v\npassed on %+v", c.Findings, want, passed)
	}
	if f, ok := c.Failed(); !ok || f.Name != "refused" {
		t.Errorf("the first failure is %+v", f)
	}
	if _, err := (Try{}).run(t.Context(), "no.such", idmap.Account{}); err == nil || err.Error() != `there is no trial "no.such"` {
		t.Errorf("%v", err)
	}
}

// The failure of a check that warns is a warning, which nothing is skipped after.
func TestWarns(t *testing.T) {
	k := tries()[1]
	k.Warns = true
	var c Checker
	if err := c.Check(t.Context(), k, Check{Name: "next", Needs: []string{k.Name}, Do: func(context.Context) Finding { return Finding{} }}); err != nil {
		t.Fatal(err)
	}
	if c.Findings[0].Status != Warn || c.Findings[1].Status != OK {
		t.Errorf("%+v", c.Findings)
	}
}

// A child that hangs ends with the context, after which no check is made.
func TestHangingChild(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for !started("hangs") {
			time.Sleep(time.Millisecond)
		}
		cancel(errors.New("the cause"))
	}()
	if _, err := tries()[3].Try.run(ctx, "hangs", idmap.Account{}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("%v", err)
	}
	var c Checker
	if err := c.Check(ctx, tries()...); err == nil || err.Error() != "the cause" || len(c.Findings) > 0 {
		t.Errorf("%v, %+v", err, c.Findings)
	}
}

// started reports whether a child makes the check.
func started(name string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(paths, func(path string) bool {
		line, _ := os.ReadFile(path) // the process may have ended
		return string(line) == tryName+"\x00"+name+"\x00"
	})
}

// A child whose ids cannot be mapped gives that as the reason.
func TestChildWithoutMaps(t *testing.T) {
	account := idmap.Account{UID: 1 << 30, GID: 1 << 30, UIDs: idmap.Range{Start: 1, Count: 1 << 30}, GIDs: idmap.Range{Start: 1, Count: 1 << 30}}
	try := Try{IDs: MapAccount, Do: tries()[0].Try.Do}
	if _, part := try.attributes(account); part != waitName {
		t.Fatalf("the part is %q", part)
	}
	t.Setenv("PATH", t.TempDir()) // without newuidmap
	if _, err := try.run(t.Context(), "good", account); err == nil || !strings.Contains(err.Error(), "newuidmap") {
		t.Errorf("%v", err)
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{"ab\ncd": "ab", "\n a\xff \n": "a?", "": ""} {
		if got := FirstLine([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
