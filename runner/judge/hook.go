package judge

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// WhileHookRuns is the catalog's outcome of a run until its hook has ended: readers of `complete` rely on what the hook
// does.
func WhileHookRuns(v outcome.Outcome, key catalog.Key) outcome.Outcome {
	if v.State != outcome.Complete {
		return v
	}
	return outcome.Fault(outcome.ReasonPostProcess, "the post-process command has not ended; if scidex-oci was killed meanwhile, "+repeatHook(key))
}

// AfterHook is the outcome after a hook. The analysis' failure wins.
func AfterHook(v outcome.Outcome, key catalog.Key, failure error) outcome.Outcome {
	if failure == nil || v.State != outcome.Complete {
		return v
	}
	return outcome.Fault(outcome.ReasonPostProcess, result.Sentence(failure)+"; the outputs are committed: "+repeatHook(key))
}

func repeatHook(key catalog.Key) string {
	return fmt.Sprintf(`repeat only that with "scidex-oci post-process %s"`, key)
}
