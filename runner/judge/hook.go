package judge

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// WhileHookRuns is the catalog's outcome of a run until its hook has ended: readers of `complete` rely on what the hook
// does.
func (v Outcome) WhileHookRuns(key catalog.Key) Outcome {
	if v.State != catalog.Complete {
		return v
	}
	return Outcome{
		catalog.Error, result.ReasonPostProcess, result.ExitError, "",
		"the post-process command has not ended; if scidex-oci was killed meanwhile, " + repeatHook(key),
	}
}

// AfterHook is the outcome after a hook. The analysis' failure wins.
func (v Outcome) AfterHook(key catalog.Key, failure error) Outcome {
	if failure == nil || v.State != catalog.Complete {
		return v
	}
	return Outcome{
		catalog.Error, result.ReasonPostProcess, result.ExitError, "",
		result.Sentence(failure) + "; the outputs are committed: " + repeatHook(key),
	}
}

func repeatHook(key catalog.Key) string {
	return fmt.Sprintf(`repeat it alone with "scidex-oci post-process %s"`, key)
}
