package options

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

// TestRefusedFlagIsKnown: of a flag that is given too often the last value is shown, and it is gone with the next command line.
func TestRefusedFlagIsKnown(t *testing.T) {
	var o Analysis
	take := func(name string, values ...string) {
		for _, f := range o.Flags() {
			if f.Name != name {
				continue
			}
			l := layers{{values: map[string][]string{name: values}, label: func(name string) string { return "--" + name }}}
			if err := f.take(l); err != nil {
				t.Fatal(err)
			}
		}
	}
	take("script", "/a.py", "/b.py")
	a, err := o.Over(spec.Analysis{})
	if err == nil || !strings.Contains(err.Error(), "--script is given twice") || a.Script != "/b.py" || !o.HasScript() {
		t.Errorf("%+v, %v", a, err)
	}
	take("script")
	if o.HasScript() {
		t.Error("a script is known that the last command line does not give")
	}
}
