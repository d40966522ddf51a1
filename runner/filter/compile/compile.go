package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
)

// compile returns a profile's program: a sequence of struct sock_filter, in the byte order of the one architecture that
// the profile names. It decides every call as libcontainer's program does.
func compile(profile *specs.LinuxSeccomp) ([]byte, error) {
	if profile == nil {
		return nil, errors.New("there is no profile")
	}
	arch, err := architectureOf(profile.Architectures)
	if err != nil {
		return nil, err
	}
	unnamed, err := action(profile.DefaultAction, profile.DefaultErrnoRet)
	if err != nil {
		return nil, err
	}
	f, err := newFilter(arch, unnamed)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	newest, err := addRules(f, arch, profile.Syscalls, unnamed)
	if err != nil {
		return nil, err
	}
	rules, err := export(f)
	if err != nil {
		return nil, err
	}
	return append(unknown(arch, uint32(newest)), rules...), nil
}

// newFilter is for one architecture, and kills callers of another.
func newFilter(arch architecture, unnamed libseccomp.ScmpAction) (*libseccomp.ScmpFilter, error) {
	f, err := libseccomp.NewFilter(unnamed) // this machine's
	if err != nil {
		return nil, err
	}
	native, err := libseccomp.GetNativeArch()
	if err == nil && native != arch.library {
		err = errors.Join(f.AddArch(arch.library), f.RemoveArch(native))
	}
	if err == nil {
		err = f.SetOptimize(2) // a binary tree
	}
	if err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

// addRules returns the highest call number that a rule names.
func addRules(f *libseccomp.ScmpFilter, arch architecture, rules []specs.LinuxSyscall, unnamed libseccomp.ScmpAction) (newest libseccomp.ScmpSyscall, err error) {
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
			number, err := libseccomp.GetSyscallFromNameByArch(name, arch.library)
			if err != nil {
				continue // newer than libseccomp
			}
			newest = max(newest, number) // negative if the architecture lacks the call
			if then == unnamed {
				continue // libseccomp refuses it
			}
			// By this machine's number: libseccomp translates it.
			own, err := libseccomp.GetSyscallFromName(name)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			if err := f.AddRuleConditional(own, then, conditions); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return newest, nil
}

// export reads while libseccomp writes: a pipe's capacity is limited.
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
