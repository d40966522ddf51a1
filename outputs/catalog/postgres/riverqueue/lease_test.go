package riverqueue

import (
	"os"
	"strings"
	"testing"
)

// A clock of a host may be wrong: neither rows of leases nor the judging of them read one.
func TestLeasesReadNoClockOfAHost(t *testing.T) {
	for _, path := range []string{"lease.go", "holder.go", "../../queue/lease/lease.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, clock := range []string{"time.Now", "time.Since", "time.Until", "CLOCK_REALTIME"} {
			if strings.Contains(string(text), clock) {
				t.Errorf("%s reads %s", path, clock)
			}
		}
	}
}
