package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// PolicyDigest is the SHA-256, in hexadecimal, of an analysis' confinement: of the OCI specification without what differs
// between runs or hosts. Two hosts of one architecture with the same version and flags have the same digest; it changes
// with every rule of the filter, rlimit, mount, namespace or hidden path. It does not cover a control group's limits on
// memory, CPUs and processes, nor a watchdog's or tmpfs's on /work: those are in the result of each run.
//
// The analysis is a valid one. audit says whether the launcher is notified of refused calls first.
func PolicyDigest(a Analysis, audit bool) (string, error) {
	place, err := policyPlacement(a)
	if err != nil {
		return "", err
	}
	place.Audit = audit
	ociSpec, err := OCI(confined(a), place)
	if err != nil {
		return "", err
	}
	AddInit(ociSpec, nowhere)
	return digestOf(ociSpec)
}

func digestOf(ociSpec *specs.Spec) (string, error) {
	// Maps in a specification are encoded in key order, so that equal ones give equal text.
	text, err := json.Marshal(ociSpec)
	if err != nil {
		return "", fmt.Errorf("policy: %w", err)
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}

// confined is the part of a request that affects confinement.
func confined(a Analysis) Analysis {
	part := Analysis{ID: "policy", Command: []string{"policy"}}
	for _, f := range fields {
		if f.confines {
			f.in(&part).Set(f.in(&a))
		}
	}
	return part
}

// nowhere is a path of the host in a placement without one.
const nowhere = "/policy"

// policyPlacement is a placement without a host: one bind for each destination of an input, and ids as for a user with a
// range.
func policyPlacement(a Analysis) (Placement, error) {
	ids := []specs.LinuxIDMapping{{ContainerID: 0, HostID: 1, Size: 1}, {ContainerID: 1000, HostID: 2, Size: 1}}
	place := Placement{
		Root: nowhere, Work: nowhere,
		Binds:       []Bind{{nowhere, "/usr"}},
		UIDMappings: ids, GIDMappings: ids, UID: 1000, GID: 1000,
		Command: []string{"policy"},
		HasData: given(a.Data), HasDocs: given(a.Docs),
	}
	if a.Rootfs != "" && a.Rootfs != RootfsHost {
		place.Binds = nil // it is "/" itself
	}
	for _, bound := range []struct {
		source, destination string
	}{{a.Data, "/data"}, {a.Docs, "/docs"}, {a.Project, "/analysis"}} {
		if given(bound.source) {
			place.Binds = append(place.Binds, Bind{nowhere, bound.destination})
		}
	}
	inputs, err := a.ParseInputs()
	if err != nil {
		return place, err
	}
	for _, in := range inputs {
		place.Binds = append(place.Binds, Bind{nowhere, in.Destination})
	}
	return place, nil
}

// given reports whether a directory is bound. The runner resolves the defaults ./data and ./docs: to include them, name
// them.
func given(source string) bool { return source != "" && source != None }
