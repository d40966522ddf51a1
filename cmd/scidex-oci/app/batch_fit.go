package app

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/host/headroom"
)

// fit lowers the number of jobs to the limits of this process and its user, and reports that.
func (b *batchInvocation) fit(survey batch.Survey) error {
	asked := min(b.options.jobs, max(survey.Lines, 1)) // there is no more to do at once
	demand := headroom.Demand{Lines: 1, Inputs: int64(survey.Inputs)}
	fits, short, err := admission.Fit(asked, demand)
	if b.overlap() && fits < survey.Lines && err == nil {
		fits, short, err = b.fitOverlapping(asked, demand)
	}
	switch {
	case err != nil:
		return err
	case fits == 0:
		return fmt.Errorf("batch: there is no room for even one job: %s", short)
	case fits < asked:
		b.say(fmt.Sprintf("%s instead of %d: there is no room for more: %s", format.Count(fits, "job", "jobs"), b.options.jobs, short))
		b.options.jobs = fits
	}
	return nil
}

// fitOverlapping has lines overlap if the limits allow it.
func (b *batchInvocation) fitOverlapping(asked int, demand headroom.Demand) (fits int, short string, err error) {
	apart := demand
	demand.Lines = admission.Overlapping
	if fits, short, err = admission.Fit(asked, demand); fits > 0 || err != nil {
		return fits, short, err
	}
	b.apart = true
	return admission.Fit(asked, apart)
}

// overlap reports whether a line may start while the outputs of another are harvested and committed: not if the outcome
// of that one decides whether it may, nor with a post-process command, nor if the limits do not allow both.
func (b *batchInvocation) overlap() bool {
	return !b.apart && b.options.maxFailures == 0 && b.options.retries == 0 && b.request.Hook == nil
}
