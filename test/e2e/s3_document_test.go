package e2e

import (
	"strings"
	"testing"
)

// TestS3Document executes the shell blocks of docs/s3.md, over TLS and without.
func TestS3Document(t *testing.T) {
	s := inS3OverTLS(t)
	script, rest := shellOf(t, "../../docs/s3.md")
	if strings.Contains("\n"+rest, "\nscidex-oci ") {
		t.Errorf("a command is in a block that is not executed (```sh): %s", rest)
	}
	s.setenv("ENDPOINT", s.plain)
	s.setenv("SECURE_ENDPOINT", s.front.URL)
	s.setenv("AUTHORITY", s.own.File)
	s.setenv("AWS_CA_BUNDLE", "")
	s.setenv("SCIDEX_OCI_TMP", t.TempDir()) // ids in documents are the same for every copy of this test
	out := s.finish(s.command("bash", "-euxc", script))
	if out.code != 0 || !strings.HasPrefix(out.stdout, "1\n") {
		t.Errorf("exit code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
}
