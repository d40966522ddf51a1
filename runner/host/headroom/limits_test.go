package headroom

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A program with too low a limit ends before Go starts, with a sentence that names the limit, and with the code for a refusal.
func TestLowLimits(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ option, least, name string }{
		{"-v", "2097151", "RLIMIT_AS"},
		{"-v", "100000", "RLIMIT_AS"},
		{"-d", "262143", "RLIMIT_DATA"},
		{"-s", "127", "RLIMIT_STACK"},
		{"-f", "0", "RLIMIT_FSIZE"},
		{"-n", "39", "RLIMIT_NOFILE"},
	} {
		out, err := exec.Command("bash", "-c", `ulimit "$1" "$2" && exec "$0" -test.list='^$'`, self, c.option, c.least).CombinedOutput()
		var exit *exec.ExitError
		said := string(out)
		if !errors.As(err, &exit) || exit.ExitCode() != 125 || strings.Count(said, "\n") != 1 {
			t.Errorf("%+v: %v, it said %.400q", c, err, said)
		}
		for _, want := range []string{"scidex-oci: ", c.name, `"ulimit ` + c.option} {
			if !strings.Contains(said, want) {
				t.Errorf("%+v: no %q in %.400q", c, want, said)
			}
		}
	}
	for _, enough := range []string{"-v 2097152", "-d 262144", "-s 128", "-f 1024", "-n 40"} {
		out, err := exec.Command("bash", "-c", `ulimit $1 && exec "$0" -test.list='^$'`, self, enough).CombinedOutput()
		if err != nil && !bytes.Contains(out, []byte("ThreadSanitizer failed to allocate")) { // the race detector takes more for itself
			t.Errorf("%s: %v, it said %.400q", enough, err, out)
		}
	}
}
