package session

import (
	"cmp"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/capacity"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/turns"
	"github.com/scidex-ai/scidex-oci/runner/host/room"
)

const (
	// mostAtOnce bounds the analyses at once where nothing else does.
	mostAtOnce = 256
	// inputsEach is how many inputs a request is expected to have, for the bound on open files.
	inputsEach = 8
)

// fit is how many analyses run at once: so many jobs, or for 0 what memory and processors have room for, and at most as the limits
// of this process allow.
func (s *Session) fit(jobs int) (o engine.Options, err error) {
	if jobs > 0 {
		o = s.fitMachine(capacity.ReadCapacity(), jobs)
		o.Room = turns.Room{}
	} else {
		machine, err := s.openAccount()
		if err != nil {
			return o, err
		}
		o, jobs = s.fitMachine(machine, 0), mostAtOnce
	}
	fits, short, err := capacity.Fit(jobs, room.Demand{Lines: batch.Overlapping, Inputs: inputsEach})
	if err == nil && fits == 0 {
		err = fmt.Errorf("there is no room for even one run: %s", short)
	}
	o.Room.Jobs, o.Jobs = fits, min(o.Jobs, fits)
	return o, err
}

// fitMachine fits so many analyses with the default limits on a machine, or for 0 as many as it has room for.
func (s *Session) fitMachine(machine capacity.Capacity, jobs int) engine.Options {
	under := s.Lines.Under.WithDefaults()
	o := engine.Options{Overlap: s.request.Hook == nil, Room: turns.Room{Memory: machine.Memory, CPUs: machine.CPUs}, Account: s.account}
	o.Jobs = cmp.Or(jobs, machine.Runs(int64(under.Memory), under.CPUs))
	o.Idle = machine.Idle(o.Jobs, int64(under.Memory), under.CPUs)
	return o
}

// openAccount shares the machine with the other engines of this account, and returns what this one may use of it.
func (s *Session) openAccount() (capacity.Capacity, error) {
	machine := capacity.ReadMachine()
	path, err := turns.AccountFile()
	if err == nil {
		s.account, err = turns.OpenAccount(path, turns.Room{Memory: machine.Memory, CPUs: machine.CPUs})
	}
	if err != nil {
		return machine, fmt.Errorf("the runs of this account's engines cannot be counted: %w; or give --jobs N, which counts those of this one alone", err)
	}
	return capacity.ReadTotal().Within(s.account.Memory, s.account.CPUs), nil
}
