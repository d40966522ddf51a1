package streams

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// brokenPipe is the user's end of a pipe that nobody reads any more.
type brokenPipe struct{ writes int }

func (p *brokenPipe) Write([]byte) (int, error) { p.writes++; return 0, errors.New("broken pipe") }

func TestDrainKeepsTheBeginning(t *testing.T) {
	store, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ingest, err := store.NewIngest("x")
	if err != nil {
		t.Fatal(err)
	}
	defer ingest.Close()
	input := bytes.Repeat([]byte("0123456789"), 100_000)
	sink, gone := NewLog(ingest, 25, ""), &brokenPipe{}
	if err := Drain(bytes.NewReader(input), sink, gone, nil); err != nil {
		t.Fatal(err)
	}
	if gone.writes != 1 {
		t.Errorf("a closed end was written to %d times", gone.writes)
	}
	log := sink.Kept()
	if err := errors.Join(sink.Close(), ingest.Publish(log.Name, log.SHA256)); err != nil || log.Total != 1_000_000 || log.Kept != 25 {
		t.Fatalf("got %+v (%v)", log, err)
	}
	kept, err := store.Open(t.Context(), log.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(kept); err != nil || text.String() != "0123456789012345678901234" {
		t.Errorf("kept %q (%v)", text.String(), err)
	}
}

func TestSilentStreamKeepsNothing(t *testing.T) {
	sink := NewLog(nil, 10, "") // it would panic on a file: there is no ingest directory
	if err := Drain(strings.NewReader(""), sink, nil, nil); err != nil {
		t.Fatal(err)
	}
	if log := sink.Kept(); sink.Close() != nil || *log != (phase.KeptFile{}) {
		t.Errorf("got %+v", log)
	}
}
