package workspace

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// TestEarlierRecords reads the state file and the exit record that f3809fa wrote.
func TestEarlierRecords(t *testing.T) {
	state := StateFile{Path: "testdata/f3809fa/state.json"}
	location := state.Read(Location{})
	if location.Dir != "/tmp/sample/tmp/scidex-analysis-old-pending" || location.Ino == 0 || !location.Ended || location.Launcher == nil || location.Launcher.PID == 0 || len(location.Logs) != 2 {
		t.Errorf("state file: %+v", location)
	}
	var ended phase.Ended
	content, err := record.Open("testdata/f3809fa/exit-record", &ended)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	staged := 0
	if entry, err := content.Next(); err == nil && string(entry.Path) == "s.txt" && entry.SHA256 != "" {
		staged++
	}
	if staged != 1 || !ended.Exit.Executed || !ended.Exit.Ended || ended.StartedAt.IsZero() || ended.Ingest == "" ||
		ended.Hook == nil || ended.Hook.Command[0] == "" || ended.Script == nil || ended.Script.SHA256 == "" || ended.Inside != "/analysis/one.sh" ||
		ended.Logs[0] == nil || ended.Logs[0].Total != 4 || len(ended.Command) == 0 || len(ended.Report.Enforced) == 0 || !ended.HasData {
		t.Errorf("exit record: %d staged, %+v", staged, ended)
	}
}
