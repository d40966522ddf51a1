package spec

import (
	"reflect"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec/reach"
)

// TestReach: of what is mounted only the run's own directories are written to.
func TestReach(t *testing.T) {
	want := reach.Places{Read: []string{"/"}, Write: []string{"/dev/shm", "/tmp", "/home/analysis", "/work"}, Use: []string{"/dev"}}
	for _, storage := range []string{WorkDisk, WorkTmpfs} {
		for _, portable := range []bool{false, true} {
			a, place := testAnalysis(), testPlacement()
			a.WorkStorage, place.Portable = storage, portable
			s, err := OCI(a, place)
			if err != nil {
				t.Fatal(err)
			}
			if !portable {
				AddInit(s, "/stage/init")
			}
			if got := reach.Of(s); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, portable %v: %v, want %v", storage, portable, got, want)
			}
		}
	}
}
