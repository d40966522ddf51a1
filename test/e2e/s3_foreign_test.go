package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// foreignBucket is an empty bucket of a second, independent S3 server, over plain HTTP.
func foreignBucket(t *testing.T) *bucket {
	t.Helper()
	var s struct {
		Endpoint  string `json:"endpoint"`
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
	}
	if err := json.Unmarshal([]byte(startServer(t, "../../scripts/s3", "gofakes3")), &s); err != nil {
		t.Fatal(err)
	}
	return &bucket{t: t, accessKey: s.AccessKey, secretKey: s.SecretKey, url: "s3://bucket/some%20where?endpoint=" + s.Endpoint}
}

// TestForeignServer: a run does not depend on one server's behaviour. Outputs are empty, small, and large enough for a
// HEAD before the upload.
func TestForeignServer(t *testing.T) {
	b, h, other := foreignBucket(t), newHarness(t), newHarness(t)
	b.configure(h)
	b.configure(other)
	other.setenv("SCIDEX_OCI_DB", fmt.Sprintf("sqlite://%s/catalog.db", h.root))
	h.write("files.py", `
open("empty", "w")
open("small", "w").write("small")
open("large", "w").write("0123456789abcdef" * 20000)
print("said")
`, 0o644)
	ids := []string{h.newID(), h.newID()} // the second finds all of it there
	for _, id := range ids {
		h.start("--id", id, "--script", "files.py").expect(t, "complete", "exit", 0)
	}
	h.mustRun("gc") // empties what is kept here
	for _, reader := range []*harness{h, other} {
		for name, want := range map[string]string{"empty": "", "small": "small", "large": strings.Repeat("0123456789abcdef", 20000)} {
			if got := reader.mustRun("outputs", "cat", ids[0], name).stdout; got != want {
				t.Errorf("%s has %d bytes", name, len(got))
			}
		}
		if got := reader.mustRun("logs", ids[1]).stdout; got != "said\n" {
			t.Errorf("the log is %q", got)
		}
		if out := reader.mustRun("catalog", "check", "--digests").stdout; !strings.Contains(out, "verified   5 blobs") || !strings.Contains(out, "orphans    0 ") {
			t.Errorf("%s", out)
		}
	}
	other.mustRun("outputs", "export", ids[0], "out")
	if info, err := os.Stat(other.path("out/empty")); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	h.mustRun("rm", ids[0])
	h.mustRun("gc")
}
