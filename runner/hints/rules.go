package hints

import "github.com/scidex-ai/scidex-oci/outputs/result"

// rule makes the sentence of one code, or "" if the code does not apply to the facts. With flags the sentence names flags, commands or paths
// of the host, so it is only for a caller who can set the flags of the run or change the host.
type rule struct {
	code  string
	say   func(Facts) string
	flags bool
}

// rules are in the order of a result's hints: first what explains the end.
var rules = []rule{
	{Doctor, doctor, true},
	{MemoryLimit, memoryLimit, true},
	{PidsLimit, pidsLimit, true},
	{TimeLimit, timeLimit, true},
	{WorkLimit, workLimit, true},
	{HostFull, hostFull, true},
	{Crashed, crashed, true},
	{NotebookPackages, notebookPackages, true},
	{BashNeeded, bashNeeded, false},
	{ProgramMissing, programMissing, true},
	{NoGPU, noGPU, false},
	{NoPrivileges, noPrivileges, true},
	{ModuleMissing, moduleMissing, true},
	{ArgumentsMissing, argumentsMissing, true},
	{NoDisplay, noDisplay, false},
	{HostRefused, hostRefused, true},
	{NoNetwork, noNetwork, true},
	{ChangesDirectory, changesDir, false},
	{NoDirectory, noDirectory, false},
	{LocalFile, localFile, true},
	{PathInside, pathInside, false},
	{NoData, noData, true},
	{NoSuchFile, noSuchFile, true},
	{Unreadable, unreadable, true},
	{NoInput, noInput, true},
	{NoSpace, noSpace, false},
	{CrossDevice, crossDevice, false},
	{ReadOnly, readOnly, false},
	{OutputMissing, outputMissing, false},
	{NothingExported, nothingExported, true},
	{FilesLost, filesLost, false},
	{LogTruncated, logTruncated, true},
	{AboveHost, aboveHost, true},
}

// NamesFlags reports whether the sentences of a code may be only for callers who can set the flags of the run or change the host. Other
// callers, such as a model, need other sentences. It is true for a code of a later version.
func NamesFlags(code string) bool {
	for _, r := range rules {
		if r.code == code {
			return r.flags
		}
	}
	return true
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
