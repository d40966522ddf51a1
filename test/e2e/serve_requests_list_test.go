package e2e

import "testing"

// requestTests are those of TestServeRequests, by their names without Test.
var requestTests = map[string]func(*testing.T){
	"AgainWithAnotherScript": TestAgainWithAnotherScript, "AllowBinds": TestAllowBinds, "Audit": TestAudit,
	"AuditDoesNotHold": TestAuditDoesNotHold, "AuditIsBounded": TestAuditIsBounded, "AuditKnowsItsOwn": TestAuditKnowsItsOwn,
	"AuditOff": TestAuditOff, "AuditOfLimits": TestAuditOfLimits, "AuditOfWalls": TestAuditOfWalls, "Broadcasts": TestBroadcasts,
	"CannotForgeItsEnd": TestCannotForgeItsEnd, "ControlOfForging": TestControlOfForging, "Crate": TestCrate,
	"Deterministic": TestDeterministic, "DoctorOfOuterLimits": TestDoctorOfOuterLimits, "EmptyAllowBinds": TestEmptyAllowBinds,
	"Environment": TestEnvironment, "EtcIsMadeUp": TestEtcIsMadeUp, "Examples": TestExamples, "Export": TestExport,
	"ExportFollowsNoLink": TestExportFollowsNoLink, "ExportOfATamperedBlob": TestExportOfATamperedBlob,
	"FilesInClosedDirectories": TestFilesInClosedDirectories, "HostFull": TestHostFull, "HostileHarvest": TestHostileHarvest,
	"IDsOfItsOwn": TestIDsOfItsOwn, "KeptDirectories": TestKeptDirectories, "KeptFromMemory": TestKeptFromMemory,
	"KeptTreeIsTheCallers": TestKeptTreeIsTheCallers,
	"ManyFiles":            TestManyFiles, "MemoryBelowTheLimit": TestMemoryBelowTheLimit, "MessageNamesTheCause": TestMessageNamesTheCause,
	"NamesSurvive": TestNamesSurvive, "NoOverlayToBeHad": TestWithoutOverlay, "NoSocketIsBound": TestNoSocketIsBound,
	"OuterTellsTheTruth": TestOuterLimitsAreReported, "OutputsAreStored": TestOutputsAreStored, "OutputsFind": TestOutputsFind,
	"OwnFiles": TestOwnFiles, "Partial": TestPartial, "PostProcessAlways": TestPostProcessAlways,
	"PostProcessFails": TestPostProcessFails, "PostProcessRequest": TestPostProcessRequest,
	"PostProcessTampers": TestPostProcessTampers, "ReadsItsInputs": TestReadsItsInputs,
	"RemembersLargeTrees": TestRemembersLargeTrees, "RootfsAgain": TestRootfsAgain, "RootfsBundle": TestRootfsBundle,
	"RootfsDamaged": TestRootfsDamaged, "RootfsImage": TestRootfsImage, "RootfsImageBundle": TestRootfsImageBundle,
	"RootfsLeadsNowhere": TestRootfsLeadsNowhere, "RootfsManifest": TestRootfsManifest, "RootfsSetID": TestRootfsSetID,
	"RuntimeBounds": TestRuntimeBounds, "RuntimeByteCode": TestRuntimeByteCode, "RuntimeConda": TestRuntimeConda,
	"RuntimeLink": TestRuntimeLink, "RuntimeLinks": TestRuntimeLinks, "RuntimeNames": TestRuntimeNames,
	"RuntimePrograms": TestRuntimePrograms, "RuntimeRefused": TestRuntimeRefused, "SeccompSparesInit": TestSeccompSparesInit,
	"SecretLeavesNoTrace": TestSecretLeavesNoTrace, "SeriesOfShortRun": TestSeriesOfShortRun, "SocketMemory": TestSocketMemory,
	"SocketWall": TestSocketWall, "SparseFiles": TestSparseFiles, "StandardStreams": TestStandardStreams,
	"StickyDirectories": TestStickyDirectories, "UsageOfTheKilled": TestUsageOfTheKilled, "WorkFullAtTheEnd": TestWorkFullAtTheEnd,
	"WorkTmpfs": TestWorkTmpfs, "WorkingDirectoriesOfOthers": TestWorkingDirectoriesOfOthers,
	"WritersLeftBehind": TestSurvivingWriters,
}

// longRequestTests are those that scripts/soak adds.
var longRequestTests = map[string]func(*testing.T){
	"AuditForks": TestAuditForks, "AuditIsRaced": TestAuditIsRaced, "Crowd": TestCrowd, "FontList": TestFontList,
	"ForkBomb": TestForkBomb, "Hints": TestHints, "InputByDigest": TestInputByDigest, "InputDigests": TestInputDigests,
	"Leaks": TestLeaks, "ManifestsExceeded": TestManifestsExceeded, "Notebook": TestNotebook, "NotebookFails": TestNotebookFails,
	"NotebookKernels": TestNotebookKernels, "OutcomeWaits": TestOutcomeWaits,
	"PostProcessExampleInSQLite": TestPostProcessExampleInSQLite, "PostProcessIsEnded": TestPostProcessIsEnded,
	"ReplayInputs": TestReplayInputs, "ReplayTellsWhy": TestReplayExplainsDifferences, "RootfsAttacks": TestRootfsAttacks,
	"RootfsDirectories": TestRootfsDirectories, "RuntimeOnRootfs": TestRuntimeOnRootfs, "RuntimeVenv": TestRuntimeVenv,
	"Science": TestScience, "Series": TestSeries, "Stats": TestStats, "SwappedBase": TestSwappedBase,
	"SwappedDirectories": TestSwappedDirectories, "SwappedLinks": TestSwappedLinks, "SwappedScript": TestSwappedScript,
	"ThreadsFollowCPUs": TestThreadsFollowCPUs, "Throttled": TestThrottled, "Traps": TestTraps, "WorkFull": TestWorkFull,
}
