package outputs

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzHarvest makes a small tree out of bytes: each pair is an operation and a name. Every entry that is no directory
// gets exactly one verdict, the one of its type.
func FuzzHarvest(f *testing.F) {
	f.Add([]byte{0, 1, 1, 2, 0, 3, 2, 4, 3, 5, 4, 0, 5, 6})
	f.Add([]byte{1, 0, 1, 0, 1, 0, 0, 0, 6, 1})
	f.Fuzz(func(t *testing.T, ops []byte) {
		dir := newTree(t)
		want := grow(t, dir, ops[:min(len(ops), 64)])
		h := reap(t, dir, Options{})
		for path, reason := range want {
			h.is(path, reason)
		}
		if len(h.entries) != len(want) {
			t.Errorf("%d verdicts on %d entries", len(h.entries), len(want))
		}
	})
}

// grow returns what the harvest of the tree must say.
func grow(t *testing.T, dir string, ops []byte) map[string]Reason {
	want := map[string]Reason{}
	at, last := "", ""
	for i := 0; i+1 < len(ops); i += 2 {
		path := fmt.Sprintf("%sn%c%d", at, ops[i+1]|0x80, i)
		switch ops[i] % 7 {
		case 0:
			must(t, os.WriteFile(dir+"/"+path, ops[:i], 0o644))
			want[path], last = "", path
		case 1:
			must(t, os.Mkdir(dir+"/"+path, 0o755))
			at = path + "/"
		case 2:
			must(t, os.Symlink("/etc/passwd", dir+"/"+path))
			want[path] = Symlink
		case 3:
			must(t, unix.Mkfifo(dir+"/"+path, 0o644))
			want[path] = FIFO
		case 4:
			at = ""
		case 5:
			if last != "" {
				must(t, os.Link(dir+"/"+last, dir+"/"+path))
				want[path] = ""
			}
		case 6:
			must(t, os.WriteFile(dir+"/"+path, nil, 0o644))
			must(t, os.Truncate(dir+"/"+path, 1<<40))
			want[path] = TooLarge
		}
	}
	return want
}
