package hints

import "github.com/scidex-ai/scidex-oci/outputs/result"

// rule makes the sentence of one code from facts that it applies to, else "".
type rule struct {
	code string
	say  func(Facts) string
}

// rules are in the order of a result's hints: first what explains the end.
var rules = []rule{
	{Doctor, doctor},
	{MemoryLimit, memoryLimit},
	{PidsLimit, pidsLimit},
	{TimeLimit, timeLimit},
	{WorkLimit, workLimit},
	{HostFull, hostFull},
	{Crashed, crashed},
	{NotebookPackages, notebookPackages},
	{BashNeeded, bashNeeded},
	{ProgramMissing, programMissing},
	{NoGPU, noGPU},
	{NoPrivileges, noPrivileges},
	{ModuleMissing, moduleMissing},
	{ArgumentsMissing, argumentsMissing},
	{NoDisplay, noDisplay},
	{HostRefused, hostRefused},
	{NoNetwork, noNetwork},
	{ChangesDirectory, changesDir},
	{NoDirectory, noDirectory},
	{LocalFile, localFile},
	{PathInside, pathInside},
	{NoData, noData},
	{NoSuchFile, noSuchFile},
	{Unreadable, unreadable},
	{NoInput, noInput},
	{NoSpace, noSpace},
	{CrossDevice, crossDevice},
	{ReadOnly, readOnly},
	{OutputMissing, outputMissing},
	{NothingExported, nothingExported},
	{FilesLost, filesLost},
	{LogTruncated, logTruncated},
	{AboveHost, aboveHost},
}

// Of returns the hints of an ended run.
func Of(f Facts) (list []result.Hint) {
	for _, r := range rules {
		if sentence := r.say(f); sentence != "" {
			list = append(list, result.Hint{Code: r.code, Message: sentence})
		}
	}
	return list
}
