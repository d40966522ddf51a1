package catalog

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// earlier is a run of a record that waits on a disk, as programs before outcome.Outcome wrote it.
const earlier = `{"ID":"a","Attempt":2,"State":"failed","Reason":"timeout","Message":"m","ExitCode":124,"Signal":"SIGKILL",` +
	`"CreatedAt":"0001-01-01T00:00:00Z","StartedAt":"0001-01-01T00:00:00Z","FinishedAt":"0001-01-01T00:00:00Z",` +
	`"Labels":{"k":"v"},"Request":{},"Place":null,"Report":null,"Blobs":["b"],"Events":null,"Host":"h","BootID":"","ToolVersion":"",` +
	`"Pinned":false,"OutputsRemovedAt":"0001-01-01T00:00:00Z","OutputsTotal":0,"RejectedTotal":0}`

// Records are read and written in the form of earlier programs, which may be on the same host.
func TestRunInRecords(t *testing.T) {
	want := Run{
		Key:     Key{"a", 2},
		Outcome: outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonTimeout, Message: "m", ExitCode: 124, Signal: "SIGKILL"},
		Labels:  map[string]string{"k": "v"}, Request: json.RawMessage("{}"), Blobs: []string{"b"}, Host: "h",
	}
	var read Run
	if err := json.Unmarshal([]byte(earlier), &read); err != nil {
		t.Fatal(err)
	}
	want.Place, want.Report = json.RawMessage("null"), json.RawMessage("null")
	if !reflect.DeepEqual(read, want) {
		t.Errorf("read %+v,\nwant %+v", read, want)
	}
	text, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(earlier), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &is); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(is, was) {
		t.Errorf("wrote %s,\nwant %s", text, earlier)
	}
}
