package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func wait(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Documents are kept to the byte, also those that jsonb refuses or changes.
func TestDocuments(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	c := opened(t, server.url("runner", name))
	for i, text := range []string{
		`{"a":"\u0000"}`, `{"\u0000":1}`, `{"a":"\ud800"}`, `{ "b":1.0,  "a":1e400, "a":2 }`, `[]`, `null`, `"é 🧠"`, `{"n":123456789012345678901234567890}`,
		`{"deep":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
	} {
		run := sample(fmt.Sprint("run-", i))
		run.Request, run.Place, run.Report = json.RawMessage(text), json.RawMessage(text), json.RawMessage(text)
		must(t, c.Create(t.Context(), run))
		must(t, c.Commit(t.Context(), over(run), many(1)))
		got, err := c.Get(t.Context(), run.Key)
		must(t, err)
		for _, document := range []json.RawMessage{got.Request, got.Place, got.Report} {
			if string(document) != text {
				t.Errorf("%s came back as %s", text, document)
			}
		}
	}
	if n := value[int](t, server, name, `SELECT count(*) FROM scidex_oci.runs_v1`); n != 9 {
		t.Errorf("the view has %d runs", n)
	}
}

// Text that a column cannot hold does not prevent a commit.
func TestNULAndInvalidText(t *testing.T) {
	server := theCluster(t)
	c := opened(t, server.url("runner", migrated(t, server)))
	run := sample("a")
	run.Host, run.BootID, run.ToolVersion = "h\x00", "b\xff", "v\x00"
	must(t, c.Create(t.Context(), run))
	run = over(run)
	run.Message, run.Reason, run.Signal = "a\x00b\xffc", "exit", "SIG\x00"
	run.Report = json.RawMessage("{\"a\":\"\xff\"}")
	run.Events = []catalog.Event{{At: run.CreatedAt, Kind: "a\x00b", Address: []byte("\x00\xff"), Severity: "low", Count: 1}}
	entry := outputs.Entry{Path: []byte("a\xff\nb"), SHA256: strings.Repeat("ab", 32), MediaType: "a\x00\xff"}
	sent := false
	must(t, c.Commit(t.Context(), run, func() (outputs.Entry, error) {
		if sent {
			return outputs.Entry{}, io.EOF
		}
		sent = true
		return entry, nil
	}))
	got, err := c.Get(t.Context(), run.Key)
	must(t, err)
	if got.Message != "a\uFFFDb\uFFFDc" || string(got.Report) != "{\"a\":\"\uFFFD\"}" || got.Host != "h\uFFFD" {
		t.Errorf("run %+v", got)
	}
	events, err := c.Events(t.Context(), run.Key)
	if err != nil || len(events) != 1 || events[0].Kind != "a\uFFFDb" || string(events[0].Address) != "\x00\xff" {
		t.Errorf("events %+v, %v", events, err)
	}
	bad := sample("b")
	bad.Labels = map[string]string{"k": "a\x00b"}
	if err := c.Create(t.Context(), bad); err == nil {
		t.Error("a label with NUL was accepted and cannot be kept")
	}
	for _, name := range []string{"a\x00", "\xff"} {
		if runs, err := c.List(t.Context(), catalog.Filter{ID: name, States: []outcome.State{outcome.State(name)}, Labels: map[string]string{name: name}}); err != nil || len(runs) != 0 {
			t.Errorf("List of %q = %v, %v", name, runs, err)
		}
	}
}

// A path may be longer than what a B-tree takes, and need not compress.
func TestLongPaths(t *testing.T) {
	server := theCluster(t)
	c := opened(t, server.url("runner", migrated(t, server)))
	run := sample("a")
	must(t, c.Create(t.Context(), run))
	random := rand.New(rand.NewPCG(1, 2))
	begin := make([]byte, 4095)
	for i := range begin {
		begin[i] = byte(1 + random.IntN(255))
	}
	var paths [][]byte
	for _, last := range []byte{0xff, 1, 'b', 'a'} {
		paths = append(paths, append(slices.Clone(begin), last))
	}
	paths = append(paths, begin[:1999], begin[:2000], begin[:2001], begin, []byte("\xff"), []byte("\x01"))
	next := 0
	must(t, c.Commit(t.Context(), over(run), func() (outputs.Entry, error) {
		if next == len(paths) {
			return outputs.Entry{}, io.EOF
		}
		next++
		return outputs.Entry{Path: paths[next-1], SHA256: strings.Repeat("ab", 32), Size: int64(next)}, nil
	}))
	var got [][]byte
	must(t, c.Outputs(t.Context(), run.Key, func(e outputs.Entry) bool { got = append(got, e.Path); return true }))
	if want := slices.SortedFunc(slices.Values(paths), bytes.Compare); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%d paths are not in the order of their bytes", len(got))
	}
	for i, path := range paths {
		if e, err := c.Output(t.Context(), run.Key, path); err != nil || e.Size != int64(i+1) {
			t.Errorf("Output %d = %d, %v", i+1, e.Size, err)
		}
	}
}

// The settings of a role or database do not change what is read.
func TestOtherSettings(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	for _, set := range []string{
		"datestyle = 'German, DMY'", "bytea_output = 'escape'", "timezone = 'Asia/Kolkata'", "synchronous_commit = off", "default_transaction_isolation = 'serializable'", "default_transaction_read_only = on", "standard_conforming_strings = off",
		"search_path = nowhere",
	} {
		server.execute(t, "postgres", "ALTER DATABASE "+name+" SET "+set)
	}
	c := opened(t, server.url("runner", name))
	run := sample("a")
	run.CreatedAt = run.CreatedAt.Add(123 * time.Millisecond)
	must(t, c.Create(t.Context(), run))
	must(t, c.Commit(t.Context(), over(run), many(2)))
	got, err := c.Get(t.Context(), run.Key)
	must(t, err)
	if got.CreatedAt != run.CreatedAt {
		t.Errorf("created at %v, want %v", got.CreatedAt, run.CreatedAt)
	}
	wantCommitted(t, c, "a", 2)
}

func TestViews(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	c := opened(t, server.url("runner", name))
	run := sample("a")
	run.Labels = map[string]string{"project": "brain", "odd": `"\ é 🧠`}
	must(t, c.Create(t.Context(), run))
	paths := []string{"a b.csv", "é\n🧠", `back\slash`, "\xff", "a\xc3(", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xef\xbf\xbf", "\xf0\x9f\xa7\xa0"}
	next := 0
	must(t, c.Commit(t.Context(), over(run), func() (outputs.Entry, error) {
		if next == len(paths) {
			return outputs.Entry{}, io.EOF
		}
		next++
		return outputs.Entry{Path: []byte(paths[next-1]), SHA256: strings.Repeat("ab", 32), Size: 1}, nil
	}))
	second := sample("a")
	second.Attempt = 2
	must(t, c.Create(t.Context(), second))

	got := value[string](t, server, name, `SELECT string_agg(id || attempt || state || latest || coalesce(labels ->> 'odd', ''), '|' ORDER BY attempt) FROM scidex_oci.runs_v1`)
	if want := `a1completefalse"\ é 🧠|a2runningtrue`; got != want {
		t.Errorf("runs_v1: %s, want %s", got, want)
	}
	for _, path := range paths {
		shown := value[string](t, server, name, `SELECT path FROM scidex_oci.outputs_v1 WHERE path_bytes = $1`, []byte(path))
		want := path
		if strings.ToValidUTF8(path, "?") != path {
			want = value[string](t, server, name, `SELECT encode($1, 'escape')`, []byte(path))
		}
		if shown != want {
			t.Errorf("outputs_v1: path %q is shown as %q, want %q", path, shown, want)
		}
	}
}
