package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shown is the output of leaks.py.
type shown struct {
	Readable []string            `json:"readable"`
	Found    map[string][]string `json:"found"`
}

// TestLeaks searches everything that can be read inside for data of the host: paths, names, kernel addresses. Data that
// cannot be hidden are in testdata/leaks.txt, with the reason; anything else is a leak.
func TestLeaks(t *testing.T) {
	h := newHarness(t)
	h.write("data/x", "", 0o644)
	h.write("docs/x", "", 0o644)
	h.write("file", "", 0o644)
	patterns := ofTheHost(h)
	raw, err := json.Marshal(patterns)
	if err != nil {
		t.Fatal(err)
	}
	argument := base64.StdEncoding.EncodeToString(raw)

	// That is enough to find every kind of data; all files of a host are many.
	cmd := exec.Command("/usr/bin/python3", "-B", testdata(t, "leaks.py"), argument, "/proc/self", "/proc/sys/kernel", "/proc/kallsyms", "/etc/passwd")
	cmd.Dir, cmd.Env = h.dir, h.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	outside := decodeShown(t, string(out))
	for kind := range patterns {
		if len(outside.Found[kind]) == 0 && (kind != "address" || theHost.root) {
			t.Errorf("control: %s is found nowhere outside: it proves nothing", kind)
		}
	}

	r := h.analysis("leaks.py", flags("--data", "data", "--docs", "docs", "--input", "file"),
		argument, "/proc", "/sys", "/etc", "/run", "/var")
	r.expect(t, "complete", "exit", 0)
	inside, known := decodeShown(t, h.stdoutOf(r)), readKnown(t)
	for _, path := range inside.Readable {
		if strings.HasPrefix(path, "/proc/") && !known.has("readable", path) {
			t.Errorf("%s can be read inside and is not in testdata/leaks.txt", path)
		}
	}
	for kind, paths := range inside.Found {
		for _, path := range paths {
			if !known.has(kind, path) {
				t.Errorf("%s shows %s", path, kind)
			}
		}
	}
}

// ofTheHost are regular expressions for data of the host that an analysis does not need, by their kind.
func ofTheHost(h *harness) map[string][]string {
	h.t.Helper()
	me, err := user.Current()
	if err != nil {
		h.t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		h.t.Fatal(err)
	}
	list := map[string][]string{
		"directory": {regexp.QuoteMeta(filepath.Dir(h.dir)), regexp.QuoteMeta(testdata(h.t, "."))},
		"boot":      {strings.TrimSpace(string(boot))},
		// Of the kernel's half, in hexadecimal (Documentation/arch/x86/x86_64/mm.rst). All ones is none, and
		// the page for vsyscall lies in the same place on every machine.
		"address": {`(?<![0-9a-f])(?!f{16}|f{10}60[01]0{3})ffff[0-9a-f]{12}(?![0-9a-f])`},
	}
	if me.Uid != "0" { // everyone knows what root is called
		list["caller"] = []string{`\b` + me.Username + `\b`}
	}
	if name, err := os.Hostname(); err == nil && len(name) >= 6 { // a short one is found anywhere
		list["hostname"] = []string{`\b` + regexp.QuoteMeta(name) + `\b`}
	} else {
		h.t.Logf("not covered here: the host's name %q (%v) is too short to look for", name, err)
	}
	return list
}

func decodeShown(t *testing.T, text string) shown {
	t.Helper()
	var s shown
	if err := json.Unmarshal([]byte(text), &s); err != nil || len(s.Readable) == 0 {
		t.Fatalf("%v in %q", err, text)
	}
	return s
}

// known are lines "KIND PATH: REASON" of testdata/leaks.txt.
type known map[string][]string

var knownPattern = regexp.MustCompile(`^([a-z]+) (/\S+): (\S.*)$`)

func readKnown(t *testing.T) known {
	t.Helper()
	all := known{}
	for line := range strings.Lines(readFile(t, "testdata/leaks.txt")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		match := knownPattern.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("leaks.txt: %q is not KIND PATH: REASON", line)
		}
		all[match[1]] = append(all[match[1]], match[2])
	}
	return all
}

func (k known) has(kind, path string) bool {
	return slices.ContainsFunc(k[kind], func(pattern string) bool { return fits(pattern, path) })
}
