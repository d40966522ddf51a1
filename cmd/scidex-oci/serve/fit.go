package serve

import (
	"cmp"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/host/headroom"
)

const (
	// mostAtOnce bounds the analyses at once if nothing else does.
	mostAtOnce = 256
	// inputsEach is how many inputs a request is expected to have, for the bound on open files.
	inputsEach = 8
)

// fit is how many analyses run at once: so many jobs, or for 0 what memory and processors have room for, and at most as the limits
// of this process allow.
func (s *Service) fit(jobs int) (o admission.Options, err error) {
	machine, runs := admission.ReadFree(), jobs
	if jobs == 0 {
		if machine, err = s.openAccount(); err != nil {
			return o, err
		}
		o.Total, o.Account, runs = machine, s.account, mostAtOnce
	}
	fits, short, err := admission.Fit(runs, headroom.Demand{Lines: admission.Overlapping, Inputs: inputsEach})
	if err == nil && fits == 0 {
		err = fmt.Errorf("there is no room for even one run: %s", short)
	}
	each := admission.LimitsOf(s.Lines.Under)
	usual := cmp.Or(jobs, machine.Runs(each))
	o.Runs, o.Idle = fits, machine.Idle(usual, each)
	if s.request.Hook == nil {
		o.Overlap = min(usual, fits)
	}
	return o, err
}

// openAccount shares the machine with the other engines of this account, and returns what this one may use of it.
func (s *Service) openAccount() (admission.Resources, error) {
	machine := admission.ReadMachine()
	path, err := admission.AccountFile()
	if err == nil {
		s.account, err = admission.OpenAccount(path, machine)
	}
	if err != nil {
		return machine, fmt.Errorf("the runs of this account's engines cannot be counted: %w; or give --jobs N, which counts only those of this one", err)
	}
	return admission.ReadTotal().Within(s.account.Resources), nil
}
