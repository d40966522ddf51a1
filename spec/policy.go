package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// PolicyDigest is the SHA-256, in hexadecimal, of the confinement that an analysis gets: of the OCI
// specification with everything in it that differs from run to run or host to host put out of account.
// Two hosts of one architecture with the same version and the same flags have the same digest; it changes
// with every rule of the filter, rlimit, mount, namespace or hidden path. It does not cover memory, CPUs
// and processes as a control group holds them, nor what a watchdog or a tmpfs of the supervisor holds of /work: those are in the result of each run.
//
// audit says whether the run is asked about before its calls are refused. The error is that of Validate.
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
	return digestOf(ociSpec)
}

func digestOf(ociSpec *specs.Spec) (string, error) {
	// The maps of a specification are written in the order of their keys, so that the same one always
	// gives the same text.
	text, err := json.Marshal(ociSpec)
	if err != nil {
		return "", fmt.Errorf("policy: %w", err)
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}

// confined is the part of a request that says how it is confined.
func confined(a Analysis) Analysis {
	return Analysis{
		ID: "policy", Command: []string{"policy"},
		Rootfs: a.Rootfs, IDs: a.IDs, Limits: a.Limits,
		WorkSize: a.WorkSize, WorkFiles: a.WorkFiles, WorkStorage: a.WorkStorage,
		Memory: a.Memory, CPUs: a.CPUs, Pids: a.Pids, Timeout: a.Timeout, Grace: a.Grace, LogSize: a.LogSize,
	}
}

// policyPlacement is a placement without a host: one bind for each place inside that an input takes,
// ids as a user with a range gives them.
func policyPlacement(a Analysis) (Placement, error) {
	const nowhere = "/policy"
	ids := []specs.LinuxIDMapping{{ContainerID: 0, HostID: 1, Size: 1}, {ContainerID: 1000, HostID: 2, Size: 1}}
	place := Placement{
		Root: nowhere, Work: nowhere,
		Binds:       []Bind{{nowhere, "/usr"}},
		UIDMappings: ids, GIDMappings: ids, UID: 1000, GID: 1000,
		Init: []string{"/dev/scidex-init"}, InitSource: nowhere,
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

// given reports whether a directory is bound. The defaults ./data and ./docs are the runner's to look for:
// who wants them in account names them.
func given(source string) bool { return source != "" && source != None }
