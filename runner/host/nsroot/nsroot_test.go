package nsroot

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEnter starts this program again as root without CAP_SYS_ADMIN, as in an ordinary container.
func TestEnter(t *testing.T) {
	if os.Getenv("NSROOT_TEST") != "" {
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
		// As children of some daemons inherit it.
		"SIGCHLD ignored": {"env", "--ignore-signal=CHLD"},
		"SIGCHLD blocked": {"env", "--block-signal=CHLD"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(before, "setpriv", "--bounding-set=-sys_admin", "--", self, "-test.run=^TestNamespace$", "-test.v")
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "NSROOT_TEST=1")
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
					t.Errorf("the ids are not %s: %s", ids, got)
				}
			}
		})
	}
}

// TestNamespace is what the started program runs.
func TestNamespace(t *testing.T) {
	if os.Getenv("NSROOT_TEST") == "" {
		t.Skip("started by TestEnter")
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
