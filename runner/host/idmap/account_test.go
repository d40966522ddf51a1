package idmap

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadSubID(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Range
	}{
		"by name":           {"root:1:65536\nada:100000:65536\n", Range{100000, 65536}},
		"by number":         {"1000:200000:65536\n", Range{200000, 65536}},
		"too small is none": {"ada:100000:2\n", Range{}},
		"the first usable":  {"ada:100000:1\nada:300000:10\n", Range{300000, 10}},
		"of another user":   {"eve:100000:65536\n", Range{}},
		"garbage":           {"ada\nada:x:y\n\n#", Range{}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "subuid")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := readSubID(path, []string{"1000", "ada"}); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if got := readSubID(filepath.Join(t.TempDir(), "none"), []string{"1000"}); got.Count != 0 {
		t.Errorf("a missing file gives %v", got)
	}
}

func TestChooseRange(t *testing.T) {
	const all = "         0          0 4294967295\n"
	for name, c := range map[string]struct {
		configured Range
		idMap      string
		want       Range
	}{
		"host, nothing configured":       {Range{}, all, rootRange},
		"host, subuid":                   {Range{500000, 65536}, all, Range{500000, 65536}},
		"container with 65536 ids":       {Range{}, "0 1000 1\n1 100000 65536\n", Range{1 + 65536 - 32768, 32768}},
		"subuid outside of its own map":  {Range{500000, 65536}, "0 100000 65536\n", Range{65536 - 32768, 32768}},
		"a single id":                    {Range{}, "0 1000 1\n", Range{}},
		"the configured range, if whole": {Range{10, 100}, "0 100000 65536\n", Range{10, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := chooseRange(c.configured, c.idMap); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestHostIDs(t *testing.T) {
	root := Account{UID: 0, UIDs: Range{2_000_000_000, 65536}, GIDs: Range{2_000_000_000, 65536}}
	user := Account{UID: 1000, GID: 100, UIDs: Range{100000, 65536}, GIDs: Range{200000, 65536}}
	single := Account{UID: 1000, GID: 100}
	for _, c := range []struct {
		account         Account
		outer, uid, gid int
	}{
		{root, 0, 2_000_000_000, 2_000_000_000}, // never the host's root
		{root, 2, 2_000_000_002, 2_000_000_002},
		{user, 0, 1000, 100},
		{user, 1, 100000, 200000},
		{single, 0, 1000, 100},
	} {
		if uid, gid := c.account.HostUID(c.outer), c.account.HostGID(c.outer); uid != c.uid || gid != c.gid {
			t.Errorf("outer id %d of uid %d is %d:%d on the host, want %d:%d", c.outer, c.account.UID, uid, gid, c.uid, c.gid)
		}
	}
}

func TestSlotsDiffer(t *testing.T) {
	account, err := ReadAccount()
	if err != nil {
		t.Fatal(err)
	}
	account.UIDs, account.GIDs = Range{100000, 65536}, Range{100000, 65536}
	a, err := account.AcquireSlot(false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.AcquireSlot(false)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{a.Container: true, a.Analysis: true, b.Container: true, b.Analysis: true}
	if len(ids) != 4 || ids[0] {
		t.Errorf("two runs at once have the ids %+v and %+v", a, b)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	c, err := account.AcquireSlot(false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Container != a.Container {
		t.Errorf("a released pair %+v is not used again: %+v", a, c)
	}
	if err := b.Release(); err != nil {
		t.Error(err)
	}
	if err := c.Release(); err != nil {
		t.Error(err)
	}
}
