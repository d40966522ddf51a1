package headroom

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	plenty := Headroom{Files: 1 << 20, Threads: Unlimited, Pairs: 32767, Space: Unlimited, Data: Unlimited}
	with := func(change func(*Headroom)) Headroom {
		h := plenty
		change(&h)
		return h
	}
	overlapping := Demand{Lines: 3}
	for name, c := range map[string]struct {
		have   Headroom
		jobs   int64
		demand Demand
		want   int64
		short  string
	}{
		"plenty":              {plenty, 60, overlapping, 60, ""},
		"few files":           {with(func(h *Headroom) { h.Files = 256 }), 60, overlapping, 6, `open files (256, see "ulimit -n")`},
		"few files, few jobs": {with(func(h *Headroom) { h.Files = 256 }), 6, overlapping, 6, ""},
		"one after another":   {with(func(h *Headroom) { h.Files = 256 }), 60, Demand{Lines: 1}, 18, "open files"},
		"many inputs":         {with(func(h *Headroom) { h.Files = 256 }), 60, Demand{Lines: 1, Inputs: 6}, 9, "open files"},
		"no files":            {with(func(h *Headroom) { h.Files = 50 }), 60, Demand{Lines: 1}, 0, "open files (50,"},
		"few threads":         {with(func(h *Headroom) { h.Threads, h.Others = 120, 6 }), 60, Demand{Lines: 1}, 10, "(120, others use 6, "},
		"no threads":          {with(func(h *Headroom) { h.Threads, h.Others = 12, 20 }), 1, Demand{Lines: 1}, 0, "processes and threads"},
		"few ids":             {with(func(h *Headroom) { h.Pairs = 16 }), 60, overlapping, 5, "ids for runs (16 pairs,"},
		"little space":        {with(func(h *Headroom) { h.Space = 2<<30 + 200<<20 }), 60, overlapping, 4, "address space"},
		"little memory":       {with(func(h *Headroom) { h.Data = 256 << 20 }), 60, overlapping, 1, "private memory"},
		"the least counts":    {Headroom{Files: 256, Threads: 60, Others: 0, Pairs: 3, Space: Unlimited, Data: Unlimited}, 60, Demand{Lines: 1}, 3, "ids for runs"},
		"nothing is limited":  {Headroom{Unlimited, Unlimited, 0, Unlimited, Unlimited, Unlimited}, 1000, overlapping, 1000, ""},
	} {
		got, short := c.have.Fit(c.jobs, c.demand)
		if got != c.want || (c.short == "") != (short == "") || !strings.Contains(short, c.short) {
			t.Errorf("%s: %d for want of %q, want %d, %q", name, got, short, c.want, c.short)
		}
	}
}

// Of this process there is at least one thread that counts.
func TestThreadsAreCounted(t *testing.T) {
	u := User{UID: os.Geteuid()}
	own, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	if got := u.all(); got < int64(len(own))/2 || got < 1 {
		t.Errorf("%d threads of user %d, and this process has %d", got, u.UID, len(own))
	}
	if h := Read(u, 7); h.Files < 1 || h.Pairs != 7 || u.UID == 0 && h.Threads != Unlimited {
		t.Errorf("got %+v", h)
	}
}

func TestExplain(t *testing.T) {
	for text, want := range map[string]string{
		"the supervisor is gone: runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\nPC=0x0": noThreads,
		"newuidmap: fork/exec /usr/bin/newuidmap: resource temporarily unavailable":                                            noThreads,
		"runtime: failed to create new OS thread (have 5 already; errno=11)":                                                   noThreads,
		"nsexec-1[11]: unable to spawn stage-2: Resource temporarily unavailable":                                              noThreads,
		"the supervisor is gone: runtime: epollctl failed with 28\nfatal error: runtime: epollctl failed":                      noWatches,
		"file file+net launcher: no space left on device":                                                                      noWatches,
		"read the socket: resource temporarily unavailable":                                                                    "",
		"write a+net: no space left on device":                                                                                 "",
		"the supervisor is gone":                                                                                               "",
	} {
		cause := errors.New(text)
		got := Explain(cause)
		if got.Error() != cmp.Or(want, text) || !errors.Is(got, cause) {
			t.Errorf("%s: %v", text, got)
		}
	}
}
