package runc

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// TestNothingRunsWithoutItsFilter gives init programs that are none: the analysis never begins.
func TestNothingRunsWithoutItsFilter(t *testing.T) {
	s := launched(t)
	for name, test := range map[string]struct {
		program []byte
		want    unix.Errno
	}{
		"half a step":       {[]byte{6, 0, 0, 0}, unix.EBADMSG},
		"more than allowed": {make([]byte, 8*4097), unix.EBADMSG},
		"no step of BPF":    {[]byte{0xff, 0xff, 0, 0, 0, 0, 0, 0}, unix.EINVAL},
	} {
		r := newRun(t, s, strings.ReplaceAll(name, " ", "-"), "echo up", 0)
		r.good(r.createWith(test.program))
		r.good(r.session.Start())
		_, err := r.session.Wait(sandbox.Watch{Started: func(time.Time) { t.Errorf("%s: the analysis has started", name) }, Usage: func(sandbox.Usage) {}})
		if err == nil || !strings.Contains(err.Error(), "filter of system calls") || !strings.Contains(err.Error(), test.want.Error()) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		r.end()
	}
	r := newRun(t, s, "none", "echo up", 0)
	if err := r.createWith(nil); err == nil || !strings.Contains(err.Error(), "filter of system calls") {
		t.Errorf("without a program: %v", err)
	}
	r.end()
}
