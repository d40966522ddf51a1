package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// A bind whose destination lies in a tmpfs of the container's own, such as a runtime below /tmp, would be hidden
// by it in the root. It is mounted in a tmpfs beside the root, and libcontainer binds it from there when it has
// mounted the container's own.

// stagesOf are where the binds that lie in a tmpfs of the container's are mounted meanwhile, by destination.
func (a area) stagesOf(job *Job) map[string]string {
	stages := map[string]string{}
	for i, b := range job.Binds {
		if b.Directory && inTmpfs(b.Destination, job.Spec.Mounts) {
			stages[b.Destination] = filepath.Join(a.above(), strconv.Itoa(i))
		}
	}
	return stages
}

func inTmpfs(destination string, mounts []specs.Mount) bool {
	for _, m := range mounts {
		if m.Type == "tmpfs" && strings.HasPrefix(destination, m.Destination+"/") {
			return true
		}
	}
	return false
}

func (a area) makeStages(stages map[string]string) error {
	if len(stages) == 0 {
		return nil
	}
	if err := mountTmpfs(a.above()); err != nil {
		return err
	}
	for _, dir := range stages {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}
