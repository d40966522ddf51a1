package judge

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// outOfSpace is the outcome of a run that exceeded a bound of /work, or was ended to protect the host.
func (e ending) outOfSpace() (outcome.Outcome, bool) {
	v := failed(outcome.ReasonWorkFull, max(1, e.ownCode()), e.signal(), "")
	switch full := e.Exit.WorkFull; {
	case e.Exit.HostFull != nil:
		v.Reason = outcome.ReasonHostFull
		v.Message = e.Exit.HostFull.String() + " (--min-free): the analysis was ended"
	case full != nil && full.Bytes > int64(e.Analysis.WorkSize):
		v.Message = fmt.Sprintf("/work is full: %s were seen in it, its bound is %s (--work-size)", format.Size(full.Bytes), format.Size(int64(e.Analysis.WorkSize)))
	case full != nil:
		v.Message = fmt.Sprintf("/work is full: %d names were seen in it, its bound is %d (--work-files)", full.Files, e.Analysis.WorkFiles)
	case e.Exit.NoSpace && !e.Exit.Succeeded():
		v.Message = fmt.Sprintf("/work is full: its tmpfs of %s and %d names has no space left (--work-size, --work-files)", format.Size(int64(e.Analysis.WorkSize)), e.Analysis.WorkFiles)
	default:
		return v, false
	}
	return v, true
}

// ownCode is the exit code that the analysis ended with, as a shell has it; 0 if it was killed.
func (e ending) ownCode() int {
	switch {
	case !e.Exit.Ended:
		return 0
	case e.Exit.Status.Signaled():
		return outcome.SignalBase + int(e.Exit.Status.Signal())
	}
	return e.Exit.Status.ExitStatus()
}
