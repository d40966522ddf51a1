package catalogtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// strangeNames are paths whose bytes a database might change.
func strangeNames() []string {
	names := []string{
		"a", "a b", "a\nb", "a\tb", "a\x1b[31m", `a'b`, `a"b`, "a`b", `a\b`, "a%b", "a_b", "a;--", "-rf", "...", "..x",
		"\xff", "\xff\xfe", "\xc3\x28", "a\xffb", "\xed\xa0\x80", "\x7f", "\x01", "é", "e\u0301", "A", "Ä", "ä", "\ufeffbom",
		"x'00'", "NULL", "0", "00", "1e3", "a/b", "a-b", "a0", "a/\xff/c", strings.Repeat("n", 255), strings.Repeat("d/", 2000) + "f",
	}
	for b := 1; b < 256; b++ {
		if b != '/' {
			names = append(names, "byte "+string([]byte{byte(b)}))
		}
	}
	return names
}

func testNames(t *testing.T, d Driver) {
	c := fresh(t, d)
	var entries []outputs.Entry
	for i, name := range strangeNames() {
		if i%2 == 0 {
			entries = append(entries, file(name))
		} else {
			entries = append(entries, refused(name, outputs.Symlink, "-> "+name))
		}
	}
	run := finish(t, c, intent("a", 1), entries...)
	wantEntries(t, listing(t, c, run.Key), entries)
	for _, want := range entries {
		got, err := c.Output(t.Context(), run.Key, want.Path)
		if want.Rejected != "" {
			wantError(t, fmt.Sprintf("%q", want.Path), err, catalog.ErrNotFound)
			continue
		}
		must(t, err)
		if !sameEntry(got, want) {
			t.Errorf("Output(%q) = %+v", want.Path, got)
		}
	}
}

func testOutputs(t *testing.T, d Driver) {
	c := fresh(t, d)
	run := finish(t, c, intent("a", 1), file("old"))
	run2 := finish(t, c, intent("a", 2), file("c"), file("a"), file("b"))
	finish(t, c, intent("ab", 1), file("other"))
	root := refused("", outputs.TooMany, "100001 entries")
	root.Path = nil
	run3 := finish(t, c, intent("root", 1), root)

	wantEntries(t, listing(t, c, run.Key), []outputs.Entry{file("old")})
	wantEntries(t, listing(t, c, run2.Key), []outputs.Entry{file("a"), file("b"), file("c")})
	wantEntries(t, listing(t, c, catalog.Key{ID: "a"}), []outputs.Entry{file("a"), file("b"), file("c")})
	wantEntries(t, listing(t, c, run3.Key), []outputs.Entry{root})

	count := 0
	must(t, c.Outputs(t.Context(), run2.Key, func(outputs.Entry) bool { count++; return count < 2 }))
	if count != 2 {
		t.Errorf("yield was called %d times after it returned false in the second", count)
	}
	for _, key := range []catalog.Key{{ID: "a", Attempt: 3}, {ID: "x"}} {
		_, err := collect(t.Context(), c, key)
		wantError(t, fmt.Sprint(key), err, catalog.ErrNotFound)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := c.Outputs(ctx, run2.Key, func(outputs.Entry) bool { cancel(); return true })
	wantError(t, "cancelled while streaming", err, context.Canceled)
}

// A listing, even of hours, blocks no writer.
func testOutputsWhileWriting(t *testing.T, d Driver) {
	address := d.Empty(t)
	c, other := opened(t, d, address), opened(t, d, address)
	run := finish(t, c, intent("a", 1), file("1"), file("2"), file("3"))
	var got []outputs.Entry
	must(t, c.Outputs(t.Context(), run.Key, func(entry outputs.Entry) bool {
		got = append(got, entry)
		finish(t, c, intent(fmt.Sprint("same-", len(got)), 1), file("x"))
		finish(t, other, intent(fmt.Sprint("other-", len(got)), 1), file("x"))
		if len(got) == 1 {
			must(t, other.Delete(t.Context(), run.Key)) // the snapshot stays
		}
		return true
	}))
	wantEntries(t, got, []outputs.Entry{file("1"), file("2"), file("3")})
	_, err := c.Get(t.Context(), run.Key)
	wantError(t, "deleted run", err, catalog.ErrNotFound)
}

func testManyOutputs(t *testing.T, d Driver) {
	const many = 20_000
	c := fresh(t, d)
	run := ended(create(t, c, intent("a", 1)))
	i := 0
	must(t, c.Commit(t.Context(), run, func() (outputs.Entry, error) {
		if i == many {
			return from()()
		}
		i++
		return file(fmt.Sprintf("dir-%d/file-%05d", i%7, i)), nil
	}))
	count, last := 0, ""
	must(t, c.Outputs(t.Context(), run.Key, func(entry outputs.Entry) bool {
		if path := string(entry.Path); path <= last {
			t.Errorf("%q comes after %q", path, last)
		} else {
			last = path
		}
		count++
		return !t.Failed()
	}))
	if got := get(t, c, "a", 1); count != many || got.OutputsTotal != many {
		t.Errorf("%d outputs listed, %d in the run, want %d", count, got.OutputsTotal, many)
	}
}

func testOutput(t *testing.T, d Driver) {
	c := fresh(t, d)
	finish(t, c, intent("a", 1), file("old"))
	run := finish(t, c, intent("a", 2), file("dir/f"), refused("link", outputs.Symlink, "-> dir/f"))
	for _, key := range []catalog.Key{run.Key, {ID: "a"}} {
		got, err := c.Output(t.Context(), key, []byte("dir/f"))
		must(t, err)
		if !sameEntry(got, file("dir/f")) {
			t.Errorf("Output = %+v", got)
		}
	}
	for _, path := range []string{"link", "dir", "DIR/F", "dir/f\x00", "", "old"} {
		_, err := c.Output(t.Context(), run.Key, []byte(path))
		wantError(t, path, err, catalog.ErrNotFound)
	}
	_, err := c.Output(t.Context(), catalog.Key{ID: "x"}, []byte("dir/f"))
	wantError(t, "unknown run", err, catalog.ErrNotFound)
}

func testDigests(t *testing.T, d Driver) {
	c := fresh(t, d)
	a := finish(t, c, intent("a", 1), file("1"), file("2"), refused("3", outputs.TooLarge, ""))
	b := finish(t, c, intent("b", 1), file("2"), file("4"))
	running := create(t, c, intent("c", 1)) // its script is needed too

	want := map[string]bool{digest("1"): true, digest("2"): true, digest("4"): true}
	for _, run := range []catalog.Run{a, b, running} {
		for _, blob := range run.Blobs {
			want[blob] = true
		}
	}
	digests := func() (got []string) {
		must(t, c.Digests(t.Context(), func(sha256 string) bool { got = append(got, sha256); return true }))
		return got
	}
	if got := digests(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("Digests = %v, want %v", got, want)
	}
	count := 0
	must(t, c.Digests(t.Context(), func(string) bool { count++; return false }))
	if count != 1 {
		t.Errorf("yield was called %d times after it returned false", count)
	}
	must(t, c.Delete(t.Context(), a.Key))
	delete(want, digest("1"))
	for _, blob := range a.Blobs {
		delete(want, blob)
	}
	if got := digests(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("Digests after a deletion = %v, want %v", got, want)
	}
}
