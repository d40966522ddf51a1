package workspace

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// LockEnded takes the lock of an ended run, which its launcher holds until its hook has ended and it is cleaned.
// What gc has to clean stays recorded.
func LockEnded(host *phase.Host, key catalog.Key) (release func() error, err error) {
	t, err := LockWait(host.Root, key)
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("run %q is still at work: its post-process command or its cleaning has not ended; wait for it", key)
	}
	if err != nil {
		return nil, err
	}
	return t.Leave, nil
}
