package replay

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func run(started int64, files map[string]string) (Run, []File) {
	var list []File
	content := map[string]string{}
	for path, text := range files {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		content[sum] = text
		list = append(list, File{Path: path, Size: int64(len(text)), SHA256: sum, Mode: 0o644})
	}
	return Run{Started: time.Unix(started, 0), Ended: time.Unix(started+2, 0), Open: func(f File) ([]byte, error) {
		text, ok := content[f.SHA256]
		if !ok {
			return nil, errors.New("gone")
		}
		return []byte(text), nil
	}}, list
}

const first, second = 1795388400, 1795388900

func TestHints(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want Hint
	}{
		"ISO date":              {"made 2026-11-22T02:25:34Z\n", "made 2026-11-22T02:26:01Z\n", TimeStamp},
		"fraction of a second":  {"at 02:25:34.123456", "at 02:25:34.223456", TimeStamp},
		"seconds since 1970":    {"t=1795388401.25\n", "t=1795388902.75\n", TimeStamp},
		"nanoseconds":           {"1795388401250000000\n", "1795388902750000000\n", TimeStamp},
		"month's name":          {"Sun Nov 22 02:25:34 2026", "Sun Nov 22 02:26:34 2026", TimeStamp},
		"PDF":                   {"/CreationDate (D:20261122022534Z)", "/CreationDate (D:20261122022601Z)", TimeStamp},
		"last digits":           {"sum,0.30000000000000004\n", "sum,0.30000000000000010\n", Threads},
		"exponent":              {"1.2345678901e-10", "1.2345678902e-10", Threads},
		"lines in disorder":     {"a\nb\nc\n", "c\na\nb\n", Threads},
		"another number":        {"x,0.8444\n", "x,0.7579\n", Random},
		"another integer":       {"42\n", "17\n", Random},
		"uuid":                  {"id 3f2504e0-4f89-11d3", "id 9a7b330f-a1b2-4c3d", Random},
		"other words":           {"yes it is", "no, never", Content},
		"longer":                {"yes", "never ever", Size},
		"appended":              {"a b", "a b c", Size},
		"integers are not near": {"1000000000\n", "1000000001\n", Random},
		"far from the run":      {"1600000000\n", "1700000000\n", Random},
		"no time of day":        {"ratio 1:2\n", "ratio 1:3\n", Random},
	} {
		t.Run(name, func(t *testing.T) {
			from, a := run(first, map[string]string{"f": c.a})
			to, b := run(second, map[string]string{"f": c.b})
			got := Compare(a, b, from, to)
			if len(got) != 1 || got[0].Hint != c.want || got[0].Path != "f" || got[0].Detail == "" {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	from, a := run(first, map[string]string{"same": "1", "gone": "2", "mode": "3"})
	to, b := run(second, map[string]string{"same": "1", "new": "2", "mode": "3"})
	for i := range b {
		if b[i].Path == "mode" {
			b[i].Mode = 0o755
		}
	}
	var said []string
	for _, d := range Compare(a, b, from, to) {
		said = append(said, d.Path+" "+string(d.Hint))
	}
	if got := strings.Join(said, ", "); got != "gone missing, mode mode, new new" {
		t.Errorf("got %q", got)
	}
	if same := Compare(a, a, from, from); len(same) > 0 {
		t.Errorf("a run differs from itself: %+v", same)
	}
	unreadable := Run{Open: func(File) ([]byte, error) { return nil, errors.New("gone") }}
	_, longer := run(second, map[string]string{"same": "12", "gone": "2", "mode": "4"})
	got := Compare(a, longer, unreadable, unreadable)
	if len(got) != 2 || got[0].Hint != Content || got[1].Hint != Size {
		t.Errorf("unreadable: %+v", got)
	}
}
