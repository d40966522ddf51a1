package watchdog

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

// kennel is a watchdog on a directory without a container; its kill is noted.
func kennel(t *testing.T, bound outputs.Extent, floor freespace.Floor) (d *Watchdog, killed <-chan struct{}) {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	done := make(chan struct{})
	once := sync.OnceFunc(func() { close(done) })
	return &Watchdog{Config: Config{
		Work: dir, Kept: []Kept{{dir, "/work"}}, Bound: bound, Floor: floor, Proc: t.TempDir(), Paths: []string{dir.Name()},
		Kill: func() error { once(); return nil },
	}}, done
}

func TestWatchdogEndsWhatPassesABound(t *testing.T) {
	for name, c := range map[string]struct {
		bound outputs.Extent
		write func(dir string) error
	}{
		"bytes": {outputs.Extent{Files: 100, Bytes: 1 << 20}, func(dir string) error {
			return os.WriteFile(dir+"/a", make([]byte, 2<<20), 0o600)
		}},
		"names": {outputs.Extent{Files: 2, Bytes: 1 << 40}, func(dir string) error {
			return os.MkdirAll(dir+"/a/b/c", 0o700)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, killed := kennel(t, c.bound, freespace.Floor{})
			d.start(t.Context())
			if err := c.write(d.Work.Name()); err != nil {
				t.Fatal(err)
			}
			<-killed
			f := d.Stop()
			if f.Full == nil || !f.Full.Exceeds(c.bound) || f.Short != nil || f.Err != nil || f.Peak != *f.Full {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestWatchdogKeepsTheFloor(t *testing.T) {
	d, killed := kennel(t, outputs.Extent{Files: 1, Bytes: 1}, freespace.Floor{Bytes: math.MaxInt64})
	d.start(t.Context())
	<-killed
	if f := d.Stop(); f.Short == nil || f.Short.Of != "/work" || f.Short.Floor != math.MaxInt64 || f.Full != nil {
		t.Errorf("%+v", f)
	}
}

// A watchdog that cannot see does not look away.
func TestWatchdogThatCannotSee(t *testing.T) {
	d, killed := kennel(t, outputs.Extent{Files: 1, Bytes: 1}, freespace.Floor{})
	d.Proc = filepath.Join(d.Proc, "nothing")
	d.start(t.Context())
	<-killed
	if f := d.Stop(); f.Err == nil {
		t.Errorf("%+v", f)
	}
}

// TestLooksFollowTheRoom: a look waits no longer than the run needs to take what it has left, and not for what is not due.
func TestLooksFollowTheRoom(t *testing.T) {
	now := time.Unix(1000, 0)
	plenty := outputs.Extent{Files: 1 << 40, Bytes: 1 << 50}
	done := func(ago time.Duration, room outputs.Extent, whole bool) pacer {
		var p pacer
		p.done(now.Add(-ago), time.Microsecond, supply{bytes: 1, inodes: 1, unknown: !whole}, room, whole)
		return p
	}
	for name, c := range map[string]struct {
		names, open pacer
		busy        bool
		want        time.Duration
	}{
		"plenty is left":        {done(0, plenty, true), done(0, plenty, true), false, idle},
		"bytes for an eighth":   {done(0, outputs.Extent{Files: 1 << 40, Bytes: bytesPerSecond / 8}, true), done(0, plenty, true), false, time.Second / 8},
		"names for an eighth":   {done(0, plenty, true), done(0, outputs.Extent{Files: namesPerSecond / 8, Bytes: 1 << 50}, true), false, time.Second / 8},
		"nothing is left":       {done(0, outputs.Extent{}, true), done(0, plenty, true), false, look},
		"one survey is older":   {done(0, plenty, true), done(idle-3*look, plenty, true), false, 3 * look},
		"one survey is due":     {done(idle, plenty, true), done(0, plenty, true), false, look},
		"one is in a hurry":     {done(0, plenty, false), done(0, plenty, true), false, look},
		"none was made":         {pacer{}, pacer{}, false, look},
		"one survey is running": {done(0, plenty, true), done(0, plenty, true), true, look},
	} {
		d, _ := kennel(t, outputs.Extent{}, freespace.Floor{})
		started := func(context.Context) (outputs.Extent, bool, error) { return plenty, true, nil }
		d.surveys = []*survey{{pace: c.names, do: started}, {pace: c.open, do: started}}
		d.surveys[1].busy.Store(c.busy)
		wait, err := d.begin(t.Context(), now)
		d.running.Wait()
		if err != nil || max(look, wait) != c.want {
			t.Errorf("%s: the next look is after %v (%v), want %v", name, wait, err, c.want)
		}
	}
}

// TestLooksFollowTheFloor: the less is left above a floor, the sooner is the next look.
func TestLooksFollowTheFloor(t *testing.T) {
	d, _ := kennel(t, outputs.Extent{}, freespace.Floor{})
	left, _, err := d.Floor.Look(d.Work, "/work")
	if err != nil {
		t.Fatal(err)
	}
	d.Floor.Bytes = left - bytesPerSecond/32
	if wait, err := d.checkFloor(); err != nil || wait <= 0 || wait >= idle {
		t.Errorf("the next look is after %v (%v)", wait, err)
	}
}

// TestConfirmLooksAgain has a survey of open files that is out of date: what it adds up to is no reason.
func TestConfirmLooksAgain(t *testing.T) {
	d, _ := kennel(t, outputs.Extent{Files: 100, Bytes: 1 << 20}, freespace.Floor{})
	if err := os.WriteFile(d.Work.Name()+"/a", make([]byte, 600<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	ruler := outputs.NewRuler(d.Work, nil, false)
	stale := []outputs.Inode{{Dev: 1, Ino: 1, Bytes: 600 << 10}}
	got, _, err := ruler.Measure(t.Context(), d.Bound, stale)
	if err != nil || !got.Exceeds(d.Bound) {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = d.confirm(t.Context(), ruler); err != nil || got.Exceeds(d.Bound) {
		t.Errorf("confirmed with %+v, %v", got, err)
	}
}
