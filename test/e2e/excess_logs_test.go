package e2e

import (
	"io"
	"testing"
)

// TestFloods: output beyond the bound is dropped, and the rest of the run is not affected.
func TestFloods(t *testing.T) {
	const kept = 1 << 20
	h := newHarness(t)
	beside := h.newSibling()
	for size, c := range map[string]struct {
		timeout string
		want    ended
	}{
		"40": {"1h", well(func(t *testing.T, r result) {
			if r.Logs.Stdout.Bytes != 40<<20+int64(len("ready\n")) || r.Logs.Stderr.Bytes != 40<<20 {
				t.Errorf("%+v", r.Logs)
			}
		})},
		"-1": {"5s", ended{"failed", "timeout", 124, "SIGTERM", nil}},
	} {
		t.Run(size, func(t *testing.T) {
			h := h.in(t)
			id, begin := h.newID(), h.flag()
			cmd := h.command(theHost.bin, "run", "--quiet", "--id", id, "--log-size=1MiB", "--timeout="+c.timeout, never, "--data=none", "--docs=none",
				"--input", begin.input(), "--project", testdata(t, "limits"), "--script", testdata(t, "limits/flood.py"), "/inputs/flag", size)
			cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
			if out := h.finish(cmd); out.code != c.want.code {
				t.Errorf("exit code %d", out.code)
			}
			r := h.show(id)
			c.want.expect(t, r)
			for _, l := range []log{r.Logs.Stdout, r.Logs.Stderr} {
				if !l.Truncated || l.Bytes <= kept || len(h.blob(l.SHA256)) != kept {
					t.Errorf("log %+v", l)
				}
			}
			h.expectNothingOf(t, r)
			beside.expectUntouched(t)
		})
	}
	beside.finish(t)
}
