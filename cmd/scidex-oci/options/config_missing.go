package options

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/scidex-ai/scidex-oci/spec"
)

// MissingOfConfig refuses a directory that the config file names and that does not exist: the run would be refused for a flag
// that its command line does not have.
func (o *Analysis) MissingOfConfig(a spec.Analysis) error {
	of := o.of[configFile]
	says := of.analysis.ResolvePaths(of.dir)
	for _, one := range []struct{ key, says, used string }{
		{"data", says.Data, a.Data}, {"docs", says.Docs, a.Docs}, {"project", says.Project, a.Project}, {"stage", says.Stage, a.Stage},
	} {
		if one.says == "" || one.says == spec.None || one.says != one.used {
			continue
		}
		if _, err := os.Stat(one.used); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s in config file %q: %q does not exist; make it, give --%s, or type \"scidex-oci config unset %s\"", one.key, of.file, one.used, one.key, one.key)
		}
	}
	return nil
}
