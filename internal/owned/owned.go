// Package owned checks that a file or directory belongs to the calling user, and that others have no rights to it that they must not have. Its
// errors name neither the file nor what to do: the caller adds both.
package owned

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// What others may not do: Write is to change it, Use is to do anything with it.
const (
	Write fs.FileMode = 0o022
	Use   fs.FileMode = 0o077
)

// Check is CheckInfo of an open file.
func Check(f *os.File, closed fs.FileMode) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return CheckInfo(info, closed)
}

// CheckInfo returns an error if something does not belong to the caller, or gives others a right that is closed to them: Write,
// Use, or 0 for none.
func CheckInfo(info fs.FileInfo, closed fs.FileMode) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it does not belong to the calling user (uid %d)", os.Geteuid())
	case mode&closed == 0:
		return nil
	case closed == Write:
		return fmt.Errorf("others may write to it (mode %04o)", mode)
	default:
		return fmt.Errorf("others may use it (mode %04o)", mode)
	}
}
