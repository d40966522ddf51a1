// Package catalogtest is the conformance suite of catalog.Catalog. An implementation runs it with two lines, since some
// tests start the test binary again as further processes:
//
//	func TestMain(m *testing.M) { catalogtest.Main(m, driver) }
//	func TestConformance(t *testing.T) { catalogtest.Run(t, driver) }
package catalogtest

import (
	"context"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Driver is an implementation's input to the suite.
type Driver struct {
	// Fresh returns the address of a new database, without a schema if Open makes one.
	Fresh func(t *testing.T) string
	// Empty returns the address of a database without rows; Fresh if it is nil.
	Empty func(t *testing.T) string
	// Open opens one more handle on the database at an address, in any process.
	Open func(ctx context.Context, address string) (catalog.Database, error)
}

// Run runs the suite.
func Run(t *testing.T, d Driver) {
	if d.Empty == nil {
		d.Empty = d.Fresh
	}
	tests := []struct {
		name string
		test func(*testing.T, Driver)
	}{
		{"Create", testCreate},
		{"CreateRefuses", testCreateRefuses},
		{"Update", testUpdate},
		{"Commit", testCommit},
		{"CommitOnce", testCommitOnce},
		{"CommitKeepsTheRequest", testCommitKeepsTheRequest},
		{"CommitRefuses", testCommitRefuses},
		{"CommitAllOrNothing", testCommitAllOrNothing},
		{"CommitCancelled", testCommitCancelled},
		{"Amend", testAmend},
		{"States", testStates},
		{"Get", testGet},
		{"Find", testFind},
		{"FindAmbiguous", testFindAmbiguous},
		{"FindLast", testFindLast},
		{"List", testList},
		{"Search", testSearch},
		{"ListOfOneMoment", testListOfOneMoment},
		{"Names", testNames},
		{"Outputs", testOutputs},
		{"OutputsWhileWriting", testOutputsWhileWriting},
		{"ManyOutputs", testManyOutputs},
		{"Output", testOutput},
		{"Digests", testDigests},
		{"Events", testEvents},
		{"EventsOrder", testEventsOrder},
		{"ManyEvents", testManyEvents},
		{"EventsOnce", testEventsOnce},
		{"EventsAllOrNothing", testEventsAllOrNothing},
		{"EventsRefused", testEventsRefused},
		{"EventsDeleted", testEventsDeleted},
		{"Delete", testDelete},
		{"Pin", testPin},
		{"DropOutputs", testDropOutputs},
		{"FindOutputs", testFindOutputs},
		{"FindManyOutputs", testFindManyOutputs},
		{"Action", testAction},
		{"Usage", testUsage},
		{"UsageOfAnything", testUsageOfAnything},
		{"Selftests", testSelftests},
		{"SelftestRefuses", testSelftestRefuses},
		{"CatalogID", testCatalogID},
		{"Close", testClose},
		{"Handles", testHandles},
		{"HandlesCreateOneRun", testHandlesCreateOneRun},
		{"HandlesCommitOneRun", testHandlesCommitOneRun},
		{"ProcessesOpenFreshDatabase", testProcessesOpen},
		{"ProcessesCommit", testProcessesCommit},
		{"ProcessKilledWhileCommitting", testKilledWhileCommitting},
		{"ProcessKilledAnywhere", testKilledAnywhere},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, d) })
	}
}
