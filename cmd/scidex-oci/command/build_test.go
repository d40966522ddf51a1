package command

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestBuildVersion(t *testing.T) {
	for _, c := range []struct{ version, commit, want string }{
		{"1.2.3", "0123456789ab", "1.2.3"},
		{"1.2.3", "", "1.2.3"},
		{"1.2.3", "0123456789ab-dirty", "1.2.3+0123456789ab-dirty"},
		{"1.3.0-dev", "0123456789ab", "1.3.0-dev+0123456789ab"},
		{"1.3.0-dev", "", "1.3.0-dev"},
	} {
		if got := buildVersion(c.version, c.commit); got != c.want {
			t.Errorf("%q of %q: %q, want %q", c.version, c.commit, got, c.want)
		}
	}
}

// The Python client works without an installed package, so it has the version too, in Python's form (PEP 440).
func TestVersionIsEverywhereTheSame(t *testing.T) {
	for path, c := range map[string]struct{ pattern, want string }{
		"../../../python/scidex_oci/__init__.py": {`(?m)^__version__ = "(.*)"$`, strings.NewReplacer("-dev", ".dev0", "-rc.", "rc").Replace(Version)},
		"../../../CHANGELOG.md":                  {`(?m)^## (?:\[)?([^\] \n]+)`, strings.TrimSuffix(Version, "-dev")},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.pattern).FindSubmatch(text)
		if found == nil || string(found[1]) != c.want {
			t.Errorf("%s: %q, and Version is %s", path, found, Version)
		}
	}
}
