package main

import (
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// action translates an action. The default errno is EPERM (runtime-spec, config-linux.md).
func action(a specs.LinuxSeccompAction, errno *uint) (libseccomp.ScmpAction, error) {
	code := int16(unix.EPERM)
	if errno != nil {
		code = int16(*errno)
	}
	switch a {
	case specs.ActAllow:
		return libseccomp.ActAllow, nil
	case specs.ActErrno:
		return libseccomp.ActErrno.SetReturnCode(code), nil
	case specs.ActTrace:
		return libseccomp.ActTrace.SetReturnCode(code), nil
	default: // not used by our profiles
		return libseccomp.ActInvalid, fmt.Errorf("action %s is not known here", a)
	}
}

func operator(o specs.LinuxSeccompOperator) (libseccomp.ScmpCompareOp, error) {
	switch o {
	case specs.OpNotEqual:
		return libseccomp.CompareNotEqual, nil
	case specs.OpLessThan:
		return libseccomp.CompareLess, nil
	case specs.OpLessEqual:
		return libseccomp.CompareLessOrEqual, nil
	case specs.OpEqualTo:
		return libseccomp.CompareEqual, nil
	case specs.OpGreaterEqual:
		return libseccomp.CompareGreaterEqual, nil
	case specs.OpGreaterThan:
		return libseccomp.CompareGreater, nil
	case specs.OpMaskedEqual:
		return libseccomp.CompareMaskedEqual, nil
	default:
		return libseccomp.CompareInvalid, fmt.Errorf("operator %s is not known here", o)
	}
}

// conditionsOf translates the conditions of a rule, which must all hold. It refuses two on one argument: libcontainer
// makes alternatives of them, against the specification.
func conditionsOf(args []specs.LinuxSeccompArg) ([]libseccomp.ScmpCondition, error) {
	var conditions []libseccomp.ScmpCondition
	seen := map[uint]bool{}
	for _, arg := range args {
		op, err := operator(arg.Op)
		if err != nil {
			return nil, err
		}
		if seen[arg.Index] {
			return nil, fmt.Errorf("two conditions on argument %d", arg.Index)
		}
		seen[arg.Index] = true
		condition, err := libseccomp.MakeCondition(arg.Index, op, arg.Value, arg.ValueTwo)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, condition)
	}
	return conditions, nil
}
