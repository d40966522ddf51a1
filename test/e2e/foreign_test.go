package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// foreign is a directory of another user, whom the host does not know. Its "out" leads to a directory of root's with a file, and
// its "link" to that file.
type foreign struct{ path, victim string }

const foreignUID = 54321

func newForeign(t *testing.T, h *harness) foreign {
	t.Helper()
	top := h.newID()
	f := foreign{h.path(top + "/foreign"), h.path(top + "/victim")}
	secret := h.write(top+"/victim/secret", "root's", 0o600)
	err := errors.Join(os.Mkdir(f.path, 0o755), os.Symlink(f.victim, f.path+"/out"), os.Symlink(secret, f.path+"/link"), os.Chown(f.path, foreignUID, foreignUID))
	for dir := h.path(top); dir != os.TempDir(); dir = filepath.Dir(dir) {
		err = errors.Join(err, os.Chmod(dir, 0o711))
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// untouched fails if root's directory or its file has changed.
func (f foreign) untouched(t *testing.T) {
	t.Helper()
	info, err := os.Lstat(f.victim + "/secret")
	if left := matches(f.victim + "/*"); err != nil || info.Mode() != 0o600 || readFile(t, f.victim+"/secret") != "root's" || len(left) != 1 {
		t.Errorf("root's directory has %q; its file: %v, %v", left, info, err)
	}
	if left := matches(f.victim + "/.scidex*"); len(left) > 0 {
		t.Errorf("root's directory has %q", left)
	}
}

// TestRootWritesForAnotherUser: each command that writes to a path, as root in a directory of another user, writes
// nothing that this user could not, and the new files belong to that user.
func TestRootWritesForAnotherUser(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: an ordinary user has no rights to be misled with")
		return
	}
	h := newHarness(t)
	id := h.newID()
	h.write("numbers.py", "open('table.csv', 'w').write('a,b\\n1,2\\n')", 0o644)
	h.mustRun("run", "--id", id, "--script", "numbers.py", "--output", "table.csv")
	h.write("lines.jsonl", `{"command":["true"]}`, 0o644)
	for name, c := range map[string]struct {
		args  []string // FILE is what is written
		never bool     // also if the user could
	}{
		"report":     {args: flags("report", id, "--out", "FILE", "--overwrite")},
		"table":      {args: flags("table", "table.csv", "--out", "FILE", "--overwrite")},
		"new":        {args: flags("new", "numbers.py", "--out", "FILE", "--overwrite")},
		"key":        {args: flags("key", "new", "FILE")},
		"docs":       {args: flags("docs", "--dir", "FILE")},
		"trace":      {args: flags("run", "--trace", "FILE", "--", "true")},
		"events":     {args: flags("run", "--events", "FILE", "--", "true")},
		"junit":      {args: flags("batch", "--junit", "FILE", "lines.jsonl")},
		"config set": {args: flags("--config", "FILE", "config", "set", "memory", "1GiB")},
		"bundle":     {args: flags("spec", "--bundle", "FILE", "--", "true"), never: true},
		"root":       {args: flags("--root", "FILE", "ls"), never: true},
		"db":         {args: flags("--db", "sqlite://FILE", "ls"), never: true},
		"blobs":      {args: flags("--blobs", "file://FILE", "ls"), never: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, h)
			to := func(path string) outcome {
				var args []string
				for _, arg := range c.args {
					args = append(args, strings.Replace(arg, "FILE", path, 1))
				}
				return h.do(args...)
			}
			own := fmt.Sprintf("%s/new-%s", f.path, strings.ReplaceAll(name, " ", "-"))
			for _, path := range []string{f.path + "/out/new", f.path + "/out/new/deep", f.path + "/out/secret", f.path + "/link"} {
				if out := to(path); out.code != 125 && name != "stats" || out.code == 0 {
					t.Errorf("%s: exit code %d\n%s", path, out.code, out.stderr)
				}
				f.untouched(t)
			}
			out := to(own)
			if c.never {
				if out.code != 125 || len(matches(own+"*")) > 0 {
					t.Errorf("exit code %d\n%s", out.code, out.stderr)
				}
				return
			}
			var st unix.Stat_t
			if err := unix.Lstat(own, &st); out.code != 0 || err != nil || st.Uid != foreignUID {
				t.Errorf("exit code %d, uid %d, %v\n%s", out.code, st.Uid, err, out.stderr)
			}
		})
	}
}
