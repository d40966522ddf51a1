// Package filter compiles a filter of system calls, an OCI profile, to the program that the kernel takes (seccomp(2)).
// libseccomp takes milliseconds for it, and libcontainer has it done anew in every container: here it is done once for
// all runs of a launcher that have the same profile, and our init loads the program (docs/adr/0017).
package filter

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
)

// Compile returns the program of a profile: struct sock_filter after struct sock_filter, in the machine's byte order. It
// says of every call what libcontainer's program says.
func Compile(profile *specs.LinuxSeccomp) ([]byte, error) {
	program, err := compile(profile)
	if err != nil {
		return nil, fmt.Errorf("compile the filter of system calls: %w", err)
	}
	return program, nil
}

func compile(profile *specs.LinuxSeccomp) ([]byte, error) {
	if profile == nil {
		return nil, errors.New("there is none")
	}
	arch, err := native(profile.Architectures)
	if err != nil {
		return nil, err
	}
	unnamed, err := action(profile.DefaultAction, profile.DefaultErrnoRet)
	if err != nil {
		return nil, err
	}
	f, err := libseccomp.NewFilter(unnamed) // of this machine's architecture; it kills whoever calls by another
	if err != nil {
		return nil, err
	}
	defer f.Release()
	if err := f.SetOptimize(2); err != nil { // a tree in place of a list
		return nil, fmt.Errorf("optimize: %w", err)
	}
	newest, err := addRules(f, profile.Syscalls, unnamed)
	if err != nil {
		return nil, err
	}
	rules, err := export(f)
	if err != nil {
		return nil, err
	}
	return append(unknown(arch, uint32(newest)), rules...), nil
}

// addRules returns the greatest number of a call that a rule names.
func addRules(f *libseccomp.ScmpFilter, rules []specs.LinuxSyscall, unnamed libseccomp.ScmpAction) (newest libseccomp.ScmpSyscall, err error) {
	for _, rule := range rules {
		then, err := action(rule.Action, rule.ErrnoRet)
		if err != nil {
			return 0, err
		}
		conditions, err := conditionsOf(rule.Args)
		if err != nil {
			return 0, fmt.Errorf("%v: %w", rule.Names, err)
		}
		for _, name := range rule.Names {
			number, err := libseccomp.GetSyscallFromName(name)
			if err != nil {
				continue // a call of another architecture, or newer than libseccomp
			}
			newest = max(newest, number)
			if then == unnamed {
				continue // which libseccomp refuses
			}
			if err := f.AddRuleConditional(number, then, conditions); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return newest, nil
}

// export reads while libseccomp writes: nobody knows how much a pipe takes.
func export(f *libseccomp.ScmpFilter) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	exported := make(chan error, 1)
	go func() { exported <- errors.Join(f.ExportBPF(w), w.Close()) }()
	program, err := io.ReadAll(r)
	return program, errors.Join(err, <-exported)
}
