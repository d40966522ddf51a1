package selftest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

func TestSockets(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "a/b/.s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := view{Inputs: []input{{Source: dir, Inside: "/data"}}}
	o := canary.Perform(canary.Attempt{Do: "connect below", At: dir})
	if o.Count != 4 || o.Partial || o.Got[dir+"/a/b/.s.PGSQL.5432"] != "socket ok" || o.Got[dir+"/fifo"] != "fifo ok" || len(o.Got) != 2 {
		t.Fatalf("%+v", o)
	}
	for _, c := range []struct {
		name, at, said string
		want           check.Status
		words          []string
	}{
		{"reached", "/data/a/b/.s.PGSQL.5432", "socket ok", check.Fail, []string{"/data/a/b/.s.PGSQL.5432", dir + "/a/b/.s.PGSQL.5432", "ok"}},
		{"refused, while it answers", "/data/a/b/.s.PGSQL.5432", "socket ECONNREFUSED", check.Pass, []string{"answers on the host"}},
		{"refused, and nothing is there", "/data/other", "socket ECONNREFUSED", check.Inconclusive, []string{"nothing answers"}},
		{"of nowhere", "/run/x", "socket ECONNREFUSED", check.Inconclusive, nil},
		{"slow", "/data/a/b/.s.PGSQL.5432", "socket timeout", check.Inconclusive, nil},
		{"odd", "/data/a/b/.s.PGSQL.5432", "socket EBADF", check.Fail, nil},
		{"a FIFO", "/data/fifo", "fifo ok", check.Fail, nil},
		{"a closed FIFO", "/data/fifo", "fifo ENXIO", check.Pass, nil},
		{"a lie", "/data/a/b/.s.PGSQL.5432", "", check.Fail, nil},
		{"another lie", "/data/a/b/.s.PGSQL.5432", "nothing", check.Fail, nil},
	} {
		result, detail := v.socketsClosed(got(c.at, c.said))
		if result != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
		for _, word := range c.words {
			if !strings.Contains(detail, word) {
				t.Errorf("%s: no %q in %q", c.name, word, detail)
			}
		}
	}
	if result, _ := v.socketsClosed(canary.Outcome{Count: 3}); result != check.Pass {
		t.Errorf("none: %s", result)
	}
	if result, _ := v.socketsClosed(canary.Outcome{Count: 3, Partial: true}); result != check.Inconclusive {
		t.Errorf("none as far as it came: %s", result)
	}
}

// A refusal proves nothing where the source was changed meanwhile.
func TestUnchanged(t *testing.T) {
	dir := t.TempDir()
	in := newInput(dir, "/data")
	said := got("create", "EROFS", "mkdir", "EROFS", "chmod", "EROFS")
	p := unchanged(in, "write", canary.Attempt{At: "/data"}, "create", "mkdir", "chmod")
	if result, detail := p.judge(said); result != check.Pass {
		t.Errorf("%s, %s", result, detail)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if result, detail := p.judge(said); result != check.Inconclusive {
		t.Errorf("%s, %s; want nothing proven where the directory has changed", result, detail)
	}
}
