package plan

import (
	"errors"
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// ids are those of a run: of the caller's account, a pair that is locked for the run.
type ids struct {
	Account idmap.Account
	slot    idmap.Slot
	self    bool // the caller's own (--ids self)
}

// chooseIDs locks a pair of ids for a run.
func chooseIDs(account idmap.Account, asked, limits string) (ids, error) {
	if err := CheckIDs(account, asked, limits); err != nil {
		return ids{}, err
	}
	self := !account.HasRange() || asked == spec.IDsSelf
	slot, err := account.AcquireSlot(self)
	return ids{Account: account, slot: slot, self: self}, err
}

// kind is the value of --ids that was chosen.
func (i ids) kind() string {
	if i.self {
		return spec.IDsSelf
	}
	return spec.IDsRange
}

func (i ids) warnings() []string {
	if i.Account.Notice == "" {
		return nil
	}
	return []string{i.Account.Notice}
}

// reader is who is to read the inputs.
func (i ids) reader() scan.Reader {
	return scan.Reader{
		UID: i.Account.HostUID(i.slot.Analysis), GID: i.Account.HostGID(i.slot.Analysis),
		Own: i.self, Root: i.Account.Root(),
	}
}

// single reports whether the analysis runs as uid 0 inside because the caller has only one id.
func (i ids) single() bool { return !i.Account.HasRange() }

// UIDInside is the id inside of an account's analyses.
func UIDInside(account idmap.Account) uint32 {
	if account.HasRange() {
		return 1000
	}
	return 0
}

// uid is the analysis' id inside.
func (i ids) uid() uint32 { return UIDInside(i.Account) }

// mappings maps the container's user namespace onto the outer: its root and the analysis.
func (i ids) mappings() []specs.LinuxIDMapping {
	if i.single() {
		return []specs.LinuxIDMapping{{ContainerID: 0, HostID: 0, Size: 1}}
	}
	return []specs.LinuxIDMapping{
		{ContainerID: 0, HostID: uint32(i.slot.Container), Size: 1},
		{ContainerID: i.uid(), HostID: uint32(i.slot.Analysis), Size: 1},
	}
}

// CheckIDs refuses a request whose runs cannot have the requested ids (--ids, --limits).
func CheckIDs(account idmap.Account, asked, limits string) error {
	switch {
	case asked == spec.IDsSelf && account.Root():
		return errors.New("--ids self would be the host's root here; run as an ordinary user, or leave it out: the run gets ids of its own")
	case asked == spec.IDsRange && !account.HasRange():
		return &request.HostError{Err: fmt.Errorf("--ids range: this user has no range of ids%s; add one (usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER) or use --ids self",
			parenthesis(account.Notice))}
	case account.Root() && !account.HasRange():
		return &request.HostError{Err: errors.New("root has no ids to give here: its own user namespace maps too few; start the outer container with a larger id map")}
	case asked == spec.IDsSelf || limits != spec.LimitsEnforce:
		return nil
	case account.Notice != "":
		return &request.HostError{Err: fmt.Errorf("/etc/subuid gives this user ids for its runs, but %s; install it, or accept that with --ids self", account.Notice)}
	case !account.HasRange() && len(account.Groups) > 0:
		return &request.HostError{Err: fmt.Errorf("the analysis would keep the caller's supplementary groups %v, which a user without a range in /etc/subuid cannot drop; get a range, or accept that with --ids self", account.Groups)}
	}
	return nil
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
