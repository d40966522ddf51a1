package e2e

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"go.yaml.in/yaml/v3"
)

// expectedOfRuntimeTest is test/runtimetest/expected.yml: a reason for each check that does not pass.
type expectedOfRuntimeTest struct {
	Unread               []string
	Failed, Either, Todo map[string]string
}

// TestRuntimeTest runs OCI's own check of a container in a run, with the config.json of that run as its bundle.
func TestRuntimeTest(t *testing.T) {
	h := newHarness(t)
	var want expectedOfRuntimeTest
	if err := yaml.Unmarshal([]byte(readFile(t, "../runtimetest/expected.yml")), &want); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("../runtimetest/runtimetest")
	if err != nil {
		t.Fatal(err)
	}
	h.write("bundle/runtimetest", string(program), 0o755)
	h.write("bundle/config.json", "", 0o644)
	args := flags("--id", h.newID(), "--data=none", "--docs=none", "--input="+h.path("bundle")+":/inputs/bundle",
		"--", "/inputs/bundle/runtimetest", "--path", "/inputs/bundle")
	h.write("bundle/config.json", knownToRuntimeTest(t, h.mustRun(append([]string{"spec"}, args...)...).stdout, want.Unread), 0o644)
	r := h.start(args...)
	r.expect(t, "complete", "exit", 0)
	want.compare(t, h.stdoutOf(r))
}

// knownToRuntimeTest is the configuration without the limits that runtimetest does not know.
func knownToRuntimeTest(t *testing.T, config string, unread []string) string {
	t.Helper()
	s := decodeSpec(t, []byte(config))
	before := len(s.Process.Rlimits)
	s.Process.Rlimits = slices.DeleteFunc(s.Process.Rlimits, func(l specs.POSIXRlimit) bool { return slices.Contains(unread, l.Type) })
	if before-len(s.Process.Rlimits) != len(unread) {
		t.Errorf("of %q the configuration has %d", unread, before-len(s.Process.Rlimits))
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// aCheck is a line of TAP, the Test Anything Protocol.
var aCheck = regexp.MustCompile(`(?m)^(not ok|ok) \d+ (?:(# SKIP|# TODO) )?(?:- )?(.*)$`)

// mapping has the first id of the host, which depends on concurrent runs.
var mapping = regexp.MustCompile(`\{(\d+) \d+ (\d+)\}`)

// compare checks that exactly the expected checks fail, and that all but a few passed.
func (want expectedOfRuntimeTest) compare(t *testing.T, said string) {
	t.Helper()
	count, seen := map[string]int{}, map[string]bool{}
	for _, check := range aCheck.FindAllStringSubmatch(said, -1) {
		kind, name := check[1]+check[2], mapping.ReplaceAllString(check[3], "{$1 N $2}")
		count[kind]++
		switch {
		case kind == "not ok" && want.Failed[name]+want.Either[name] == "", kind == "not ok# TODO" && want.Todo[name] == "":
			t.Errorf("it did not pass, and test/runtimetest/expected.yml has no reason: %s", check[0])
		case check[1] == "not ok":
			seen[name] = true
		}
	}
	for _, all := range []map[string]string{want.Failed, want.Todo} {
		for name := range all {
			if !seen[name] {
				t.Errorf("take it out of test/runtimetest/expected.yml: it passes, or is not there: %s", name)
			}
		}
	}
	if count["ok"] < 300 {
		t.Errorf("control: %d checks passed, want 300\n%s", count["ok"], said)
	}
	t.Logf("%v", count)
}
