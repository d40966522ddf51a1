package trials

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/view"
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
	v := view.View{Inputs: []view.Input{{Source: dir, Inside: "/data"}}}
	o := canary.Perform(canary.Attempt{Do: "connect below", At: dir})
	if o.Count != 4 || o.Partial || o.Got[dir+"/a/b/.s.PGSQL.5432"] != "socket ok" || o.Got[dir+"/fifo"] != "fifo ok" || len(o.Got) != 2 {
		t.Fatalf("%+v", o)
	}
	for _, c := range []struct {
		name, at, said string
		want           judge.Result
		words          []string
	}{
		{"reached", "/data/a/b/.s.PGSQL.5432", "socket ok", judge.Fail, []string{"/data/a/b/.s.PGSQL.5432", dir + "/a/b/.s.PGSQL.5432", "ok"}},
		{"refused, while it answers", "/data/a/b/.s.PGSQL.5432", "socket ECONNREFUSED", judge.Pass, []string{"answers on the host"}},
		{"refused, and nothing is there", "/data/other", "socket ECONNREFUSED", judge.Inconclusive, []string{"nothing answers"}},
		{"of nowhere", "/run/x", "socket ECONNREFUSED", judge.Inconclusive, nil},
		{"slow", "/data/a/b/.s.PGSQL.5432", "socket timeout", judge.Inconclusive, nil},
		{"odd", "/data/a/b/.s.PGSQL.5432", "socket EBADF", judge.Fail, nil},
		{"a FIFO", "/data/fifo", "fifo ok", judge.Fail, nil},
		{"a closed FIFO", "/data/fifo", "fifo ENXIO", judge.Pass, nil},
		{"a lie", "/data/a/b/.s.PGSQL.5432", "", judge.Fail, nil},
		{"another lie", "/data/a/b/.s.PGSQL.5432", "nothing", judge.Fail, nil},
	} {
		result, detail := socketsClosed(v, got(c.at, c.said))
		if result != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
		for _, word := range c.words {
			if !strings.Contains(detail, word) {
				t.Errorf("%s: no %q in %q", c.name, word, detail)
			}
		}
	}
	if result, _ := socketsClosed(v, canary.Outcome{Count: 3}); result != judge.Pass {
		t.Errorf("none: %s", result)
	}
	if result, _ := socketsClosed(v, canary.Outcome{Count: 3, Partial: true}); result != judge.Inconclusive {
		t.Errorf("none as far as it came: %s", result)
	}
}
