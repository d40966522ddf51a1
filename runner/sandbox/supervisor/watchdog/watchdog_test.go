package watchdog

import (
	"math"
	"os"
	"path/filepath"
	"slices"
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

// TestMarks: between its surveys a watchdog sleeps through looks that find nothing, and no longer.
func TestMarks(t *testing.T) {
	now := time.Unix(1000, 0)
	had := freespace.Free{Bytes: 1 << 40, Inodes: 1 << 20}
	room := outputs.Extent{Files: 80, Bytes: 800}
	done := func(ago time.Duration, whole bool) pacer {
		var p pacer
		p.done(now.Add(-ago), time.Microsecond, supply{Free: had}, room, whole)
		return p
	}
	for name, c := range map[string]struct {
		names, open pacer
		busy        bool
		looks       int
	}{
		"both have just ended":  {done(0, true), done(0, true), false, int(idle / look)},
		"one has longer":        {done(0, true), done(idle-3*look, true), false, 3},
		"a part of a look left": {done(0, true), done(idle-3*look+1, true), false, 3},
		"both are due":          {done(idle, true), done(2*idle, true), false, 1},
		"one is in a hurry":     {done(0, false), done(0, true), false, 1},
		"none was made":         {pacer{}, pacer{}, false, 1},
		"one goes on":           {done(0, true), done(0, true), true, 1},
	} {
		d := &Watchdog{Config: Config{Work: os.Stdin}, surveys: []*survey{{pace: c.names}, {pace: c.open}}}
		d.surveys[1].busy.Store(c.busy)
		resting, marks, looks := d.marks(now)
		if looks != c.looks {
			t.Errorf("%s: %d looks, want %d", name, looks, c.looks)
		}
		want := []freespace.Mark{
			{Dir: d.Work, Low: c.names.low(), High: c.names.high}, {Dir: d.Work, Low: c.open.low(), High: c.open.high},
		}
		if c.busy {
			want = want[:1]
		}
		if !slices.Equal(marks, want) || len(resting) != len(marks) || resting[0] != d.surveys[0] {
			t.Errorf("%s: %+v, want %+v", name, marks, want)
		}
	}
	if low := (&pacer{high: had, room: room}).low(); low != (freespace.Free{Bytes: had.Bytes - 100, Inodes: had.Inodes - 10}) {
		t.Errorf("an eighth less than %+v of %+v is %+v", had, room, low)
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
