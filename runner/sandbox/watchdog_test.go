package sandbox

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

func TestUnnamed(t *testing.T) {
	work, elsewhere := t.TempDir(), "/dev/shm"
	open := func(dir, name string, bytes int) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(f.Name()); _ = f.Close() })
		if _, err := f.Write(make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	lost := open(work, "lost", 1<<20)
	twice, err := os.Open(lost.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer twice.Close()
	named, linked := open(work, "named (deleted)", 1), open(work, "linked", 1)
	other := open(elsewhere, fmt.Sprintf("scidex-unnamed-%d", os.Getpid()), 1)
	if err := os.Link(linked.Name(), work+"/its other name"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{lost, linked, other} {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := unnamed("/proc", work, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[*os.File]int64{lost: 1 << 20, named: -1, linked: -1, other: -1} {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		got := int64(-1)
		for _, inode := range list { // of other processes of this host there may be more
			if inode.Dev == st.Dev && inode.Ino == st.Ino {
				if got >= 0 {
					t.Errorf("%s is found twice", f.Name())
				}
				got = inode.Bytes
			}
		}
		if (want < 0) != (got < 0) || want > 0 && (got < want || got > want+64<<10) {
			t.Errorf("%s: %d bytes, want %d", f.Name(), got, want)
		}
	}
}

// kennel is a watchdog on a directory without a container; its kill is noted.
func kennel(t *testing.T, bound outputs.Extent, floor freespace.Floor) (d *watchdog, killed <-chan struct{}) {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	done := make(chan struct{})
	once := sync.OnceFunc(func() { close(done) })
	return &watchdog{
		work: dir, kept: []kept{{dir, "/work"}}, bound: bound, floor: floor, proc: t.TempDir(), path: dir.Name(),
		kill: func() error { once(); return nil },
	}, done
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
			if err := c.write(d.work.Name()); err != nil {
				t.Fatal(err)
			}
			<-killed
			f := d.stop()
			if f.full == nil || !f.full.Exceeds(c.bound) || f.short != nil || f.err != nil || f.peak != *f.full {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestWatchdogKeepsTheFloor(t *testing.T) {
	d, killed := kennel(t, outputs.Extent{Files: 1, Bytes: 1}, freespace.Floor{Bytes: math.MaxInt64})
	d.start(t.Context())
	<-killed
	if f := d.stop(); f.short == nil || f.short.Of != "/work" || f.short.Floor != math.MaxInt64 || f.full != nil {
		t.Errorf("%+v", f)
	}
}

// A watchdog that cannot see does not look away.
func TestWatchdogThatCannotSee(t *testing.T) {
	d, killed := kennel(t, outputs.Extent{Files: 1, Bytes: 1}, freespace.Floor{})
	d.proc = filepath.Join(d.proc, "nothing")
	d.start(t.Context())
	<-killed
	if f := d.stop(); f.err == nil {
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
		d := &watchdog{work: os.Stdin, surveys: []*survey{{pace: c.names}, {pace: c.open}}}
		d.surveys[1].busy.Store(c.busy)
		resting, marks, looks := d.marks(now)
		if looks != c.looks {
			t.Errorf("%s: %d looks, want %d", name, looks, c.looks)
		}
		want := []freespace.Mark{
			{Dir: d.work, Low: c.names.low(), High: c.names.high}, {Dir: d.work, Low: c.open.low(), High: c.open.high},
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
	if err := os.WriteFile(d.work.Name()+"/a", make([]byte, 600<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	ruler := outputs.NewRuler(d.work, nil, false)
	stale := []outputs.Inode{{Dev: 1, Ino: 1, Bytes: 600 << 10}}
	got, _, err := ruler.Measure(t.Context(), d.bound, stale)
	if err != nil || !got.Exceeds(d.bound) {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = d.confirm(t.Context(), ruler); err != nil || got.Exceeds(d.bound) {
		t.Errorf("confirmed with %+v, %v", got, err)
	}
}

func TestNewMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts here; TestWorkTmpfs of the end-to-end suite does in every tier")
	}
	options := []string{"size=1048576", "nr_inodes=3", "mode=0700", "uid=12", "gid=13"}
	mount, err := newMount("tmpfs", readWrite, options)
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := freespace.Statfs(mount, &fs); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fstat(int(mount.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if int64(fs.Blocks)*fs.Bsize != 1<<20 || fs.Files != 3 || st.Uid != 12 || st.Gid != 13 || st.Mode&0o777 != 0o700 {
		t.Errorf("%+v, %+v", fs, st)
	}
	if fs.Flags&unix.ST_NOSUID == 0 || fs.Flags&unix.ST_NODEV == 0 {
		t.Errorf("flags %#x", fs.Flags)
	}
	if _, err := newMount("tmpfs", readWrite, slices.Concat(options, []string{"nonsense=1"})); err == nil {
		t.Error("an option that there is not was taken")
	}
}
