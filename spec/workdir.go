package spec

import "strings"

// workDir is the working directory inside, the only one harvested.
const workDir = "/work"

// StartDir is the directory that the analysis starts in.
func (a Analysis) StartDir() string {
	if a.Workdir != "" {
		return a.Workdir
	}
	return workDir
}

// WorkDirs are the paths of the working directory inside, /work first. The analysis is complete (WithDefaults).
func (a Analysis) WorkDirs() []string {
	if a.Workdir == "" {
		return []string{workDir}
	}
	return []string{workDir, a.Workdir}
}

// checkWorkdir refuses a path that hides something, or that an input hides.
func checkWorkdir(a Analysis) error {
	const instead = "a fresh one such as /job"
	if a.Workdir == "" || a.Workdir == workDir {
		return nil
	}
	if err := checkText("workdir", a.Workdir); err != nil {
		return err
	}
	if !strings.HasPrefix(a.Workdir, "/") {
		return badField("workdir", "%s is no absolute path inside: write %s", quote(a.Workdir), instead)
	}
	if err := checkFresh(a.Workdir, instead); err != nil {
		return badField("workdir", "%v", err)
	}
	inputs, err := a.ParseInputs()
	for _, in := range inputs {
		if within(in.Destination, a.Workdir) || within(a.Workdir, in.Destination) {
			return badField("workdir", "%s and input %s at %s would hide each other: choose %s", quote(a.Workdir), quote(in.Source), quote(in.Destination), instead)
		}
	}
	return err
}
