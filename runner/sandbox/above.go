package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/container"
)

// A bind whose destination lies in a tmpfs of the container's own, such as a runtime below /tmp, would be hidden
// by it in the root. It is mounted in a tmpfs beside the root, and libcontainer binds it from there when it has
// mounted the container's own.

func aboveDir(job *Job) string { return filepath.Join(stageDir, "above-"+job.ID) }

// stagesOf are where the binds that lie in a tmpfs of the container's are mounted meanwhile, by destination.
func stagesOf(job *Job) map[string]string {
	stages := map[string]string{}
	for i, b := range job.Binds {
		if b.Directory && inTmpfs(b.Destination, job.Spec.Mounts) {
			stages[b.Destination] = filepath.Join(aboveDir(job), strconv.Itoa(i))
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

func makeStages(job *Job, stages map[string]string) error {
	if len(stages) == 0 {
		return nil
	}
	if err := os.Mkdir(aboveDir(job), 0o755); err != nil {
		return err
	}
	if err := mountTmpfs(aboveDir(job)); err != nil {
		return err
	}
	for _, dir := range stages {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func dropStages(job *Job, stages map[string]string) error {
	if len(stages) == 0 {
		return nil
	}
	if err := unmount(aboveDir(job)); err != nil {
		return err
	}
	return os.Remove(aboveDir(job))
}

// createContainer lets the analysis pass the directories that libcontainer makes above what is staged: they get
// the umask of this process.
func createContainer(job *Job, config container.Config) (*container.Container, error) {
	if len(stagesOf(job)) == 0 {
		return container.Create(config)
	}
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	return container.Create(config)
}
