package regain

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRegain starts this program anew as root without CAP_SYS_ADMIN, as in an ordinary container.
func TestRegain(t *testing.T) {
	if os.Getenv("REGAIN_TEST") != "" {
		t.Skip("the program under test")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	for name, before := range map[string][]string{
		"as it is": nil,
		// As some daemons leave it to what they start.
		"SIGCHLD ignored": {"env", "--ignore-signal=CHLD"},
		"SIGCHLD blocked": {"env", "--block-signal=CHLD"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(before, "setpriv", "--bounding-set=-sys_admin", "--", self, "-test.run=^TestNamespace$", "-test.v")
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "REGAIN_TEST=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got := string(out)
			if strings.Contains(got, own) || !strings.Contains(got, "user:[") {
				t.Errorf("it stayed in %s: %s", own, got)
			}
			for _, word := range strings.Fields(string(ids)) {
				if !strings.Contains(got, word) {
					t.Errorf("its ids are others than %s: %s", ids, got)
				}
			}
		})
	}
}

// TestNamespace is what runs there.
func TestNamespace(t *testing.T) {
	if os.Getenv("REGAIN_TEST") == "" {
		t.Skip("started by TestRegain")
	}
	namespace, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(namespace, string(ids))
}
