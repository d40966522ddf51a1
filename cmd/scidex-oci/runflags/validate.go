package runflags

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Validate refuses an analysis that cannot run. It names a value as the user gave it: by the flag or its variable, or by the
// key of a manifest.
func (k Parser) Validate(a spec.Analysis) error {
	err := a.Validate()
	var field *spec.FieldError
	if !errors.As(err, &field) {
		return err
	}
	if label := k.run.Label(field.Field); label != "" {
		return fmt.Errorf("%s %s", label, field.Problem)
	}
	return err
}
