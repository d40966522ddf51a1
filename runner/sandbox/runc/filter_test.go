package runc

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/sandboxtest"
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
		r := sandboxtest.New(t, s, strings.ReplaceAll(name, " ", "-"), "echo up")
		r.Must(createWith(r, test.program))
		r.Must(r.Session.Start())
		_, err := r.Session.Wait(sandbox.Watch{Started: func(time.Time) { t.Errorf("%s: the analysis has started", name) }, Usage: func(sandbox.Usage) {}})
		if err == nil || !strings.Contains(err.Error(), "filter of system calls") || !strings.Contains(err.Error(), test.want.Error()) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		r.End()
	}
	r := sandboxtest.New(t, s, "none", "echo up")
	if err := createWith(r, nil); err == nil || !strings.Contains(err.Error(), "filter of system calls") {
		t.Errorf("without a program: %v", err)
	}
	r.End()
}

// createWith makes the container with another filter of system calls.
func createWith(r *sandboxtest.Script, program []byte) error {
	s := r.Session.(*session)
	packed, err := s.pack(r.Job)
	r.Must(err)
	packed.job.Filter = program
	r.Created, err = s.create(packed.job, packed.files)
	r.Must(packed.close())
	return err
}
