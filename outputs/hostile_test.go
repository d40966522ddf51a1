package outputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestHarvestWhileADirectoryIsSwappedForASymlink(t *testing.T) {
	victim := t.TempDir()
	write0(t, victim+"/secret", "SECRET")
	write0(t, victim+"/deeper/secret", "SECRET")
	dir := newTree(t)
	for i := range 30 {
		write0(t, fmt.Sprintf("%s/bait/deeper/f%02d", dir, i), "harmless")
		write0(t, fmt.Sprintf("%s/bait/f%02d", dir, i), "harmless")
	}
	write0(t, dir+"/bait/secret", "harmless")
	write0(t, dir+"/bait/deeper/secret", "harmless")
	must(t, os.Symlink(victim, dir+"/lure"))
	stop := flip(t, dir+"/bait", dir+"/lure")
	defer stop()
	work, ingest := openDir(t, dir), openDir(t, t.TempDir())
	outside := errors.New("it came from outside")
	for range 200 {
		_, err := Harvest(context.Background(), work, Options{Ingest: ingest}, func(e Entry) error {
			if e.Rejected == "" && e.SHA256 != digest("harmless") {
				return fmt.Errorf("%q: %w", e.Path, outside)
			}
			return nil
		})
		if errors.Is(err, outside) { // any other error says that the harvest has failed
			t.Fatal(err)
		}
	}
}

func TestEmptyWhileADirectoryIsSwappedForASymlink(t *testing.T) {
	victim := t.TempDir()
	write0(t, victim+"/a/b/kept", "1")
	write0(t, victim+"/kept", "1")
	for range 20 {
		dir := t.TempDir()
		for i := range 50 {
			write0(t, fmt.Sprintf("%s/bait/a/b/f%d", dir, i), "1")
		}
		must(t, os.Symlink(victim, dir+"/lure"))
		stop := flip(t, dir+"/bait", dir+"/lure")
		err := Empty(context.Background(), openDir(t, dir))
		stop()
		must(t, err)
	}
	for _, p := range []string{"/kept", "/a/b/kept"} {
		if _, err := os.Stat(victim + p); err != nil {
			t.Error(err)
		}
	}
}

// flip exchanges two names until the returned function is called.
func flip(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	if err := exchange(a, b); err != nil {
		t.Fatalf("this file system cannot exchange names: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = exchange(a, b) // one of them may be removed by now
		}
	}()
	return func() { cancel(); <-done }
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// TestCopyNoticesAChange changes a file between lstat and the end of the copy.
func TestCopyNoticesAChange(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"longer": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("more")
			}
			return errors.Join(err, f.Close())
		},
		"shorter": func(path string) error { return os.Truncate(path, 3) },
		"mode":    func(path string) error { return os.Chmod(path, 0o600) },
		"new name": func(path string) error {
			return os.Link(path, path+".other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newTree(t)
			write0(t, dir+"/f", "content")
			must(t, os.Chtimes(dir+"/f", past(), past()))
			work := openDir(t, dir)
			st, err := lstatAt(int(work.Fd()), "f")
			must(t, err)
			fd, err := openSame(int(work.Fd()), "f", st, unix.O_RDONLY)
			must(t, err)
			defer unix.Close(fd)
			waitForTick(t, dir)
			must(t, change(dir+"/f"))
			dst, err := os.Create(t.TempDir() + "/copy")
			must(t, err)
			defer dst.Close()
			_, err = newCopier().copy(context.Background(), fd, st, dst)
			var r *refusal
			if !errors.As(err, &r) || r.reason != Changed {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestOpenSameNoticesAnExchange(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/f", "1")
	write0(t, dir+"/g", "2")
	must(t, os.Symlink("g", dir+"/link"))
	work := openDir(t, dir)
	st, err := lstatAt(int(work.Fd()), "f")
	must(t, err)
	for _, other := range []string{"g", "link"} {
		must(t, exchange(dir+"/f", dir+"/"+other))
		fd, err := openSame(int(work.Fd()), "f", st, unix.O_RDONLY)
		var r *refusal
		if fd != -1 || !moved(err) || errors.As(proven(int(work.Fd()), "f", st, err), &r) {
			t.Errorf("%s: %d %v", other, fd, err)
		}
		must(t, exchange(dir+"/f", dir+"/"+other))
	}
}

func TestOpenSameStaysBeneath(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a/f", "1")
	must(t, os.Symlink("a", dir+"/link"))
	work := openDir(t, dir+"/a")
	for _, name := range []string{"..", "../a/f", "/etc/passwd"} {
		if fd, err := openSame(int(work.Fd()), name, new(unix.Stat_t), unix.O_RDONLY); !errors.Is(err, unix.EXDEV) {
			t.Errorf("%s: %d %v", name, fd, err)
		}
	}
	if fd, err := openSame(int(openDir(t, dir).Fd()), "link/f", new(unix.Stat_t), unix.O_RDONLY); !errors.Is(err, unix.ELOOP) {
		t.Errorf("%d %v", fd, err)
	}
}

func TestHarvestOfAGrowingFile(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/log", strings.Repeat("x", 1<<20))
	f, err := os.OpenFile(dir+"/log", os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = f.WriteString("more")
		}
	}()
	for range 20 {
		h := reap(t, dir, Options{}) // checks that an output's copy is what its entry says
		if e := h.entries["log"]; e.Rejected != "" && e.Rejected != Changed {
			t.Errorf("%+v", e)
		}
	}
	cancel()
	<-done
}

// A file that differs from its description is refused as changed, whether it is copied or only read.
func TestCopierNoticesAChange(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"longer":  func(path string) error { return os.WriteFile(path, []byte("0123456789x"), 0) },
		"shorter": func(path string) error { return os.Truncate(path, 3) },
		"touched": func(path string) error { return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)) },
		"mode":    func(path string) error { return os.Chmod(path, 0o640) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newTree(t)
			write0(t, dir+"/f", "0123456789")
			src, err := os.Open(dir + "/f")
			must(t, err)
			defer src.Close()
			var st unix.Stat_t
			must(t, unix.Fstat(int(src.Fd()), &st))
			must(t, change(dir+"/f"))
			dst, err := os.Create(t.TempDir() + "/copy")
			must(t, err)
			defer dst.Close()
			for _, to := range []*os.File{dst, nil} {
				var r *refusal
				if _, err := newCopier().copy(context.Background(), int(src.Fd()), &st, to); !errors.As(err, &r) || r.reason != Changed {
					t.Errorf("%v, want changed", err)
				}
			}
		})
	}
}
