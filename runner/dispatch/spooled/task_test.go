package spooled

import (
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"

	"github.com/scidex-ai/scidex-oci/outputs/spool"
)

// TestDeliverRetries: a file server that is away for a while costs no result, one that stays away does not keep the task, and a result
// that is there already is not tried again.
func TestDeliverRetries(t *testing.T) {
	tests := map[string]struct {
		errs  []error // of the tries; the last of all further ones
		tries int     // 0: until the time is over
		want  error
	}{
		"away for a while": {[]error{fs.ErrPermission, fs.ErrPermission, nil}, 3, nil},
		"taken":            {[]error{fs.ErrPermission, spool.ErrTaken}, 2, spool.ErrTaken},
		"away":             {[]error{fs.ErrPermission}, 0, fs.ErrPermission},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				err := (&Task{}).deliver(t.Context(), func() error {
					tries++
					return test.errs[min(tries, len(test.errs))-1]
				})
				if !errors.Is(err, test.want) || test.tries > 0 && tries != test.tries {
					t.Errorf("%d tries, %v", tries, err)
				}
			})
		})
	}
}
