package inputs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
	"github.com/scidex-ai/scidex-oci/spec"
)

// What is mistyped is answered with what to type.
func TestLikely(t *testing.T) {
	dir := inodetest.Tree(t, "fit.py", "fits/a.csv", "table.csv", "empty/")
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		analysis spec.Analysis
		want     string // what follows "does not exist", with the directory as DIR
	}{
		"a script":              {spec.Analysis{Script: in("fti.py")}, `; did you mean "fit.py"?`},
		"no directory":          {spec.Analysis{Script: in("fit")}, ""},
		"an input":              {spec.Analysis{Inputs: []string{in("tabel.csv")}}, `; did you mean "table.csv"?`},
		"a directory":           {spec.Analysis{Data: in("fit")}, `; did you mean "fits"?`},
		"above a file":          {spec.Analysis{Inputs: []string{in("fist/a.csv")}}, `; did you mean "fits/a.csv"?`},
		"not above this file":   {spec.Analysis{Inputs: []string{in("fist/b.csv")}}, ""},
		"nothing near":          {spec.Analysis{Docs: in("documents")}, ""},
		"nothing at all":        {spec.Analysis{Inputs: []string{in("empty/a")}}, ""},
		"a volume":              {spec.Analysis{Data: in("fits:/data")}, "; give only the directory, --data DIR/fits, which is /data inside"},
		"a volume of docker":    {spec.Analysis{Docs: in("fits:/docs:ro")}, "; give only the directory, --docs DIR/fits, which is /docs inside"},
		"a volume elsewhere":    {spec.Analysis{Data: in("fits:/models")}, "; give only the directory, --data DIR/fits, which is /data inside, or --input DIR/fits:/models"},
		"a relative one":        {spec.Analysis{Inputs: []string{in("table.csv:x.csv")}}, "; a destination starts with a slash: --input DIR/table.csv:/inputs/x.csv"},
		"a relative one's slip": {spec.Analysis{Inputs: []string{in("table.csv:inputs/x.csv")}}, "; a destination starts with a slash: --input DIR/table.csv:/inputs/x.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := openAndScan(t, c.analysis)
			if err == nil {
				t.Fatalf("taken: %v", set.Close())
			}
			_, got, _ := strings.Cut(Likely(err).Error(), "does not exist")
			if got = strings.ReplaceAll(got, dir, "DIR"); got != c.want {
				t.Errorf("%v: got %q, want %q", err, got, c.want)
			}
		})
	}
}
