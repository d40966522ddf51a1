package catalogtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// created is when sample runs were made; later runs add to it.
func created() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8_000_000, time.UTC) }

// digest is the SHA-256 of a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// intent is a run as Create gets it.
func intent(id string, attempt int) catalog.Run {
	return catalog.Run{
		Key:         catalog.Key{ID: id, Attempt: attempt},
		Outcome:     outcome.Outcome{State: outcome.Running},
		CreatedAt:   created(),
		Labels:      map[string]string{"project": "brain", "note": `it's "quoted" é 🧠`},
		Request:     json.RawMessage(`{"id":"x","command":["true"]}`),
		Place:       json.RawMessage(`{"dir":"/tmp/x"}`),
		Blobs:       []string{digest("script of " + id)},
		Host:        "host-1",
		BootID:      "boot-1",
		ToolVersion: "v0.0.1",
	}
}

// ended is the same run as Commit gets it.
func ended(run catalog.Run) catalog.Run {
	run.State, run.Reason, run.Message = outcome.Failed, "signal", "the analysis died of SIGKILL"
	run.ExitCode, run.Signal = 137, "SIGKILL"
	run.StartedAt, run.FinishedAt = run.CreatedAt.Add(time.Second), run.CreatedAt.Add(90*time.Second)
	run.Report = report()
	run.Place = json.RawMessage(`{"dir":"/tmp/x","kept":true}`)
	run.Blobs = append(slices.Clone(run.Blobs), digest("stdout of "+run.ID))
	return run
}

// file is an output.
func file(path string) outputs.Entry {
	return outputs.Entry{
		Path: []byte(path), Size: int64(len(path)), SHA256: digest(path), MediaType: "text/plain", Mode: 0o640,
	}
}

// refused is an entry that is no output.
func refused(path string, reason outputs.Reason, detail string) outputs.Entry {
	return outputs.Entry{Path: []byte(path), Rejected: reason, Detail: []byte(detail)}
}

// from returns entries one by one and then io.EOF.
func from(entries ...outputs.Entry) func() (outputs.Entry, error) {
	return func() (outputs.Entry, error) {
		if len(entries) == 0 {
			return outputs.Entry{}, io.EOF
		}
		entry := entries[0]
		entries = entries[1:]
		return entry, nil
	}
}

// opened opens a handle that is closed when the test ends.
func opened(t *testing.T, d Driver, address string) catalog.Database {
	t.Helper()
	c, err := d.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// fresh opens a handle on a new database.
func fresh(t *testing.T, d Driver) catalog.Database {
	t.Helper()
	return opened(t, d, d.Empty(t))
}

func create(t *testing.T, c catalog.Catalog, run catalog.Run) catalog.Run {
	t.Helper()
	must(t, c.Create(t.Context(), run))
	return run
}

// finish creates and commits a run.
func finish(t *testing.T, c catalog.Catalog, run catalog.Run, entries ...outputs.Entry) catalog.Run {
	t.Helper()
	create(t, c, run)
	run = ended(run)
	must(t, c.Commit(t.Context(), run, from(entries...)))
	return run
}

func get(t *testing.T, c catalog.Catalog, id string, attempt int) catalog.Run {
	t.Helper()
	run, err := c.Get(t.Context(), catalog.Key{ID: id, Attempt: attempt})
	must(t, err)
	return run
}

// listing collects the entries of a run.
func listing(t *testing.T, c catalog.Catalog, key catalog.Key) []outputs.Entry {
	t.Helper()
	entries, err := collect(t.Context(), c, key)
	must(t, err)
	return entries
}

func collect(ctx context.Context, c catalog.Catalog, key catalog.Key) (entries []outputs.Entry, err error) {
	err = c.Outputs(ctx, key, func(entry outputs.Entry) bool {
		entries = append(entries, entry)
		return true
	})
	return entries, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error = %v, want one that is %q", what, err, want)
	}
}

// wantRun compares all fields; JSON by content.
func wantRun(t *testing.T, got, want catalog.Run) {
	t.Helper()
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"Key", got.Key, want.Key},
		{"State", got.State, want.State},
		{"Reason", got.Reason, want.Reason},
		{"Message", got.Message, want.Message},
		{"ExitCode", got.ExitCode, want.ExitCode},
		{"Signal", got.Signal, want.Signal},
		{"CreatedAt", got.CreatedAt, want.CreatedAt},
		{"StartedAt", got.StartedAt, want.StartedAt},
		{"FinishedAt", got.FinishedAt, want.FinishedAt},
		{"Request", meaning(t, got.Request), meaning(t, want.Request)},
		{"Place", meaning(t, got.Place), meaning(t, want.Place)},
		{"Report", meaning(t, got.Report), meaning(t, want.Report)},
		{"Host", got.Host, want.Host},
		{"BootID", got.BootID, want.BootID},
		{"ToolVersion", got.ToolVersion, want.ToolVersion},
		{"Pinned", got.Pinned, want.Pinned},
		{"OutputsRemovedAt", got.OutputsRemovedAt, want.OutputsRemovedAt},
		{"OutputsTotal", got.OutputsTotal, want.OutputsTotal},
		{"RejectedTotal", got.RejectedTotal, want.RejectedTotal},
	} {
		if field.got != field.want {
			t.Errorf("%s = %v, want %v", field.name, field.got, field.want)
		}
	}
	if !maps.Equal(got.Labels, want.Labels) {
		t.Errorf("Labels = %v, want %v", got.Labels, want.Labels)
	}
	blobs := slices.Compact(slices.Sorted(slices.Values(want.Blobs)))
	if !slices.Equal(got.Blobs, blobs) {
		t.Errorf("Blobs = %v, want %v", got.Blobs, blobs)
	}
	if got.Events != nil {
		t.Errorf("Events = %v, want none with a run", got.Events)
	}
}

// meaning is a JSON document without formatting.
func meaning(t *testing.T, document json.RawMessage) string {
	t.Helper()
	if document == nil {
		return ""
	}
	var value any
	numbers := json.NewDecoder(bytes.NewReader(document))
	numbers.UseNumber()
	must(t, numbers.Decode(&value))
	return fmt.Sprint(value)
}

// wantEntries compares entries; those wanted are sorted first.
func wantEntries(t *testing.T, got, want []outputs.Entry) {
	t.Helper()
	want = slices.Clone(want)
	slices.SortFunc(want, func(a, b outputs.Entry) int { return bytes.Compare(a.Path, b.Path) })
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i := range want {
		if !sameEntry(got[i], want[i]) {
			t.Errorf("entry %d = %+v, want %+v", i, got[i], want[i])
		}
	}
}

func sameEntry(a, b outputs.Entry) bool {
	return bytes.Equal(a.Path, b.Path) && a.Size == b.Size && a.SHA256 == b.SHA256 && a.MediaType == b.MediaType &&
		a.Mode == b.Mode && a.Ingest == b.Ingest && a.Rejected == b.Rejected && bytes.Equal(a.Detail, b.Detail) && a.Partial == b.Partial
}

// report is as large as that of a run of many days, with its series.
func report() json.RawMessage {
	column := func(at int64) string {
		points := make([]string, 241)
		for i := range points {
			points[i] = strconv.FormatInt(at+int64(i)*997, 10)
		}
		return "[" + strings.Join(points, ",") + "]"
	}
	return fmt.Appendf(nil, `{"usage":{"wall_ms":89000},"series":{"source":"cgroup","t_ms":%s,"memory_bytes":%s}}`,
		column(0), column(1<<53+1)) // beyond a float64
}
