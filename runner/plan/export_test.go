package plan

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPlacesOfAnotherUser: / is root's. The kernel checks the files of this thread as those of another user.
func TestPlacesOfAnotherUser(t *testing.T) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	if _, err := unix.SetfsuidRetUid(65534); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"/nope/dir": `--export "/nope/dir" cannot be made in /: permission denied; give another directory, such as --export out`,
		"/usr/bin":  `--export "/usr/bin" cannot be written: permission denied; give another directory, such as --export out`,
	}
	for dir, want := range tests {
		if err := checkExport(dir, true); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	const want = `--tmp "/usr/bin" cannot be written: permission denied; give another directory`
	if err := checkTmp("/usr/bin"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
