package runflags

import (
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// hookTimeout is the default of --post-process-timeout.
const hookTimeout = 10 * time.Minute

// ReadHook reads the post-process command. It returns nil if there is none.
func ReadHook(o options.Hook, env options.Lookup) (*request.Hook, error) {
	if !o.Command.Given {
		return nil, nil
	}
	h := &request.Hook{Timeout: hookTimeout, Grace: time.Duration(spec.Analysis{}.WithDefaults().Grace)}
	var err error
	if h.Command, err = options.SplitCommand(o.Command.Value, env); err == nil {
		h.Command[0], err = options.Executable(o.Command.Dir, h.Command[0])
	}
	if err != nil {
		return nil, o.Command.Refuse("%w", err)
	}
	if o.Timeout.Given {
		timeout, err := spec.ParseDuration(o.Timeout.Value)
		if err != nil {
			return nil, o.Timeout.Wrap(err)
		}
		h.Timeout = time.Duration(timeout)
	}
	switch on := o.On.Or("complete"); on {
	case "complete", "always":
		h.Always = on == "always"
	default:
		return nil, o.On.Refuse("give complete or always")
	}
	return h, nil
}
